#include "app/completion.h"

#include <algorithm>
#include <iostream>

#include "shoal/config/field.h"
#include "shoal/config/run_config.h"

#include "app/arguments.h"

namespace shoal::app {
namespace {

constexpr std::string_view kBash = R"sh(# bash: source <(shoal completion bash)
_shoal() {
  local IFS=$'\n'
  COMPREPLY=($(shoal complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
}
complete -o default -F _shoal shoal
)sh";

constexpr std::string_view kZsh = R"sh(#compdef shoal
# zsh: source <(shoal completion zsh)
_shoal() {
  local -a found
  found=(${(f)"$(shoal complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( $#found == 0 )); then
    _files
  elif [[ $found[1] == *= ]]; then
    compadd -S '' -- $found
  else
    compadd -- $found
  fi
}
if [ "$funcstack[1]" = _shoal ]; then  # loaded by the first Tab, which waits for an answer
  _shoal "$@"
else
  compdef _shoal shoal
fi
)sh";

constexpr std::string_view kFish = R"sh(# fish: shoal completion fish | source
function __shoal_complete
  set -l words (commandline -opc) (commandline -ct)
  shoal complete $words[2..-1] 2>/dev/null
end
complete -c shoal -a '(__shoal_complete)'
)sh";

// "train." and what follows, up to "train.batch="; behind the sign the values of a choice.
std::vector<std::string> settings(const std::string& typed) {
  const config::RunConfig defaults;
  const config::Table table = config::table_of(defaults);
  const size_t sign = typed.find('=');
  std::vector<std::string> found;
  for (const config::Entry& entry : table) {
    if (!entry.field) continue;
    if (sign == std::string::npos) {
      found.push_back(entry.key + "=");
    } else if (entry.key == typed.substr(0, sign)) {
      for (const std::string_view choice : entry.field->shape.choices)
        found.push_back(entry.key + "=" + std::string(choice));
      if (entry.field->shape.kind == config::Shape::Kind::kBool)
        for (const char* value : {"true", "false"}) found.push_back(entry.key + "=" + value);
    }
  }
  return found;
}

const OptionText* option_named(const CommandText& command, const std::string& name) {
  const auto found =
      std::find_if(command.options.begin(), command.options.end(),
                   [&name](const OptionText& option) { return option.name == name; });
  return found == command.options.end() || name.empty() ? nullptr : &*found;
}

// Follows the names of subcommands among the words that are complete.
const CommandText& chosen(const CommandText& command, std::span<const std::string> words) {
  const CommandText* at = &command;
  for (const std::string& word : words) {
    for (const CommandText& subcommand : at->subcommands) {
      if (subcommand.name != at->name + " " + word) continue;
      at = &subcommand;
      break;
    }
  }
  return *at;
}

}  // namespace

std::vector<std::string> completions(const CommandText& command,
                                     std::span<const std::string> words) {
  const std::string typed = words.empty() ? "" : words.back();
  const auto before = words.first(words.empty() ? 0 : words.size() - 1);
  const CommandText& at = chosen(command, before);
  std::vector<std::string> all;
  const OptionText* option = before.empty() ? nullptr : option_named(at, before.back());
  if (option != nullptr && !option->shown.empty()) {
    if (option->shown == "KEY=VALUE") all = settings(typed);
  } else if (typed.starts_with("-")) {
    for (const OptionText& each : at.options)
      if (!each.name.empty()) all.push_back(each.name);
  } else {
    for (const CommandText& subcommand : at.subcommands)
      all.push_back(subcommand.name.substr(at.name.size() + 1));
  }
  std::erase_if(all, [&typed](const std::string& word) { return !word.starts_with(typed); });
  return all;
}

int run_completion(const std::vector<std::string>& arguments) {
  Arguments command(
      "shoal completion",
      "Print what makes a shell complete commands, options and keys of the config.\n\n"
      "  source <(shoal completion bash)\n\n"
      "To have it in every shell, write that line into ~/.bashrc or ~/.zshrc; for fish,\n"
      "shoal completion fish > ~/.config/fish/completions/shoal.fish");
  command.subcommand("bash", "for bash", [] { std::cout << kBash; });
  command.subcommand("zsh", "for zsh", [] { std::cout << kZsh; });
  command.subcommand("fish", "for fish", [] { std::cout << kFish; });
  command.parse(arguments);
  return 0;
}

}  // namespace shoal::app
