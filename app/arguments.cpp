#include "app/arguments.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <span>
#include <type_traits>

#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "shoal/core/error.h"
#include "shoal/core/file_error.h"
#include "shoal/core/nearest.h"
#include "shoal/core/number_in.h"

#include "app/completion.h"
#include "app/manual_page.h"

namespace shoal::app {
namespace {

namespace fs = std::filesystem;

// CLI11's own range check calls letters "not in range".
std::function<std::string(std::string)> whole_number_within(std::pair<int, int> range) {
  return [range](const std::string& text) -> std::string {
    const auto number = number_in<int>(text);
    if (number && *number >= range.first && *number <= range.second) return "";
    return format("'{}' is not a whole number from {} to {}", text, range.first, range.second);
  };
}

// Values of an option without a range, whose command has a message of its own for what is too large.
std::string whole_number(const std::string& text) {
  return number_in<int>(text) ? "" : format("'{}' is not a whole number", text);
}

std::string number(const std::string& text) {
  char* stop = nullptr;
  (void)std::strtod(text.c_str(), &stop);
  return stop != text.c_str() && *stop == '\0' ? "" : format("'{}' is not a number", text);
}

bool is_path(const std::string& shown) {
  constexpr std::array<std::string_view, 7> kPaths = {"FILE", "DIR",   "DIRECTORY", "PATH",
                                                      "RUN",  "MODEL", "CONFIG"};
  return std::find(kPaths.begin(), kPaths.end(), shown) != kPaths.end();
}

std::string path(const std::string& text) { return text.empty() ? "'' is no path" : ""; }

std::string file_to_write(const std::string& text) {
  const fs::path directory = fs::path(text).parent_path();
  const fs::path in = directory.empty() ? fs::path(".") : directory;
  if (::access(in.c_str(), W_OK | X_OK) != 0)
    return format("{} is no directory that can be written to", in.string());
  std::error_code none;
  return fs::is_directory(text, none) ? format("{} is a directory", text) : "";
}

std::string full_name(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : full_name(*parent) + " " + app.get_name();
}

// "check, help or docs"
std::string one_of(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

// Names what was meant, or all there are if that cannot be guessed and the list is short.
[[noreturn]] void refuse_name(const CLI::App& app,
                              const std::string& kind,
                              const std::string& word,
                              const std::vector<std::string>& known) {
  const auto meant = nearest(word, {known.begin(), known.end()});
  std::string hint;
  if (meant) {
    hint = format("; did you mean '{}'?", *meant);
  } else if (kind == "subcommand") {
    hint = format("; write {}", one_of(known));
  }
  throw UsageError(format("{} has no {} '{}'{} (see {} --help)", full_name(app), kind, word, hint,
                          full_name(app)));
}

std::vector<std::string> subcommands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* subcommand : app.get_subcommands(nullptr))
    names.push_back(subcommand->get_name());
  return names;
}

// "--ranks N", or "FILE" of a word without an option.
std::string usage_of(const CLI::Option& option) {
  const std::string shown = option.get_type_name();
  return option.get_positional() ? shown : option.get_name() + " " + shown;
}

std::string what_is_missing(const CLI::App& app) {
  if (const auto names = subcommands_of(app); !names.empty())
    return format("needs a subcommand: {}", one_of(names));
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_required() && option->count() == 0)
      return format("needs {}: {}", usage_of(*option), option->get_description());
  }
  return "needs another option";
}

// `said` begins with the name of the option, and has no field for it.
std::string what_is_wrong_with_value(const CLI::App& app, const std::string& said) {
  const CLI::Option* option = app.get_option_no_throw(said.substr(0, said.find(':')));
  if (option == nullptr) return said;
  return option->count() > 1
             ? format("takes {} once", option->get_name())
             : format("needs a value behind {}: write {}", option->get_name(), usage_of(*option));
}

// What CLI11 found, in our words where its own name types and counts of its making.
std::string problem_of(const CLI::App& app, const CLI::ParseError& error) {
  const std::string said = error.what();
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
    return format("{} {}", full_name(app), what_is_missing(app));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return format("{} {}", full_name(app), what_is_wrong_with_value(app, said));
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::vector<std::string> words = app.remaining();
    const std::string word = words.empty() ? "" : words.front();
    return format("{} {} '{}'", full_name(app),
                  word.starts_with("-") ? "has no option" : "has no use for the word", word);
  }
  return format("{}: {}", full_name(app), said);
}

// CLI11 reports a missing option before an unknown one, which hides that the one was a misspelling of
// the other. Gives the subcommand that the words choose, or the command itself.
const CLI::App& refuse_unknown_names(const CLI::App& command,
                                     const std::vector<std::string>& words) {
  const CLI::App* app = &command;
  for (const std::string& word : words) {
    if (word == "--") break;  // what follows are no options
    const auto subcommands = app->get_subcommands(nullptr);
    if (word.starts_with("--")) {
      const std::string name = word.substr(0, word.find('='));
      std::vector<std::string> known;
      for (const CLI::Option* option : app->get_options()) {
        for (const std::string& long_name : option->get_lnames()) known.push_back("--" + long_name);
      }
      if (std::find(known.begin(), known.end(), name) == known.end())
        refuse_name(*app, "option", name, known);
      if (name != word && app->get_option(name)->get_expected_max() == 0)
        throw UsageError(format("{}: {} is a flag and takes no value, so write it without '{}'",
                                full_name(*app), name, word.substr(name.size())));
    } else if (!subcommands.empty() && !word.starts_with("-")) {
      const std::vector<std::string> known = subcommands_of(*app);
      const auto found = std::find(known.begin(), known.end(), word);
      if (found == known.end()) refuse_name(*app, "subcommand", word, known);
      app = subcommands[static_cast<size_t>(found - known.begin())];
    }
  }
  return *app;
}

CommandText text_of(const CLI::App& app) {
  CommandText text{.name = full_name(app),
                   .description = app.get_description(),
                   .options = {},
                   .subcommands = {},
                   .footer = app.get_footer()};
  for (const CLI::Option* option : app.get_options()) {
    const bool flag = option->get_expected_max() == 0;
    text.options.push_back(
        {.name = option->get_lnames().empty() ? "" : "--" + option->get_lnames().front(),
         .shown = flag ? "" : option->get_type_name(),
         .help = option->get_description(),
         .required = option->get_required()});
  }
  for (const CLI::App* subcommand : app.get_subcommands(nullptr))
    text.subcommands.push_back(text_of(*subcommand));
  return text;
}

// Answers those who ask about the command instead of running it: shells and packagers.
bool answered(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return false;
  if (words.back() == kCompleteWord) {
    for (const std::string& word :
         completions(text_of(app), std::span(words).first(words.size() - 1)))
      std::cout << word << "\n";
    return true;
  }
  if (words.back() != kManualWord) return false;
  std::cout << manual_page(text_of(app));
  return true;
}

}  // namespace

struct Arguments::Parser {
  std::unique_ptr<CLI::App> own;  // of the command itself; a subcommand belongs to its parent
  CLI::App* app = nullptr;

  template <class Value>
  CLI::Option* add(const std::string& name,
                   Value& value,
                   const std::string& help,
                   const ArgumentDetails& details) const {
    CLI::Option* option = app->add_option(name, value, help)->required(details.required);
    if (!details.shown.empty()) option->type_name(details.shown);
    constexpr bool kWhole = std::is_same_v<Value, int> || std::is_same_v<Value, std::optional<int>>;
    if (details.range) {
      option->check(whole_number_within(*details.range));
    } else if (kWhole || std::is_same_v<Value, double>) {
      option->check(kWhole ? whole_number : number);
    }
    if (is_path(details.shown)) option->check(path);
    if (details.writes) option->check(file_to_write);
    if (!details.needs.empty()) option->needs(app->get_option(details.needs));
    return option;
  }
};

Arguments::Arguments(const std::string& command, const std::string& description)
    : parser_(std::make_unique<Parser>()) {
  parser_->own = std::make_unique<CLI::App>(description, command);
  parser_->app = parser_->own.get();
}

Arguments::Arguments(std::unique_ptr<Parser> parser) : parser_(std::move(parser)) {}

Arguments::Arguments(Arguments&&) noexcept = default;

Arguments::~Arguments() = default;

void Arguments::option(const std::string& name,
                       std::string& value,
                       const std::string& help,
                       const ArgumentDetails& details) {
  parser_->add(name, value, help, details);
}

void Arguments::option(const std::string& name,
                       std::optional<std::string>& value,
                       const std::string& help,
                       const ArgumentDetails& details) {
  parser_->add(name, value, help, details);
}

void Arguments::option(const std::string& name,
                       std::vector<std::string>& values,
                       const std::string& help,
                       const ArgumentDetails& details) {
  // One value each time: otherwise the option would swallow the words after it.
  parser_->add(name, values, help, details)->allow_extra_args(false);
}

void Arguments::option(const std::string& name,
                       int& value,
                       const std::string& help,
                       const ArgumentDetails& details) {
  parser_->add(name, value, help, details);
}

void Arguments::option(const std::string& name,
                       std::optional<int>& value,
                       const std::string& help,
                       const ArgumentDetails& details) {
  parser_->add(name, value, help, details);
}

void Arguments::option(const std::string& name,
                       double& value,
                       const std::string& help,
                       const ArgumentDetails& details) {
  parser_->add(name, value, help, details);
}

void Arguments::flag(const std::string& name, bool& value, const std::string& help) {
  parser_->app->add_flag(name, value, help);
}

Arguments Arguments::subcommand(const std::string& name,
                                const std::string& description,
                                std::function<void()> chosen) {
  parser_->app->require_subcommand(1);
  auto parser = std::make_unique<Parser>();
  parser->app = parser_->app->add_subcommand(name, description);
  parser->app->callback(std::move(chosen));
  return Arguments(std::move(parser));
}

void Arguments::footer(const std::string& text) { parser_->app->footer(text); }

bool Arguments::parse(const std::vector<std::string>& words) {
  CLI::App& app = *parser_->app;
  if (answered(app, words)) return false;
  const CLI::App& meant = refuse_unknown_names(app, words);
  try {
    app.parse(
        std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 wants them in reverse
    return true;
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return false;
  } catch (const CLI::ParseError& e) {
    throw UsageError(format("{} (see {} --help)", problem_of(meant, e), full_name(meant)));
  }
}

bool asks_about_command(const std::string& word) {
  return word == "--help" || word == "-h" || word == kManualWord || word == kCompleteWord;
}

void make_output_directory(const std::string& path, const std::string& option) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error && fs::is_directory(path, error)) return;
  if (error && exit_code_of_file_error(error.value()) == ExitCode::kStorage)
    throw_file_error("create", path, error);
  throw UsageError(format("{} is '{}', which is no directory and cannot be made one: {}", option,
                          path, error ? error.message() : "something else is there"));
}

}  // namespace shoal::app
