#include "app/arguments.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iostream>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "shoal/core/error.h"
#include "shoal/core/nearest.h"

namespace shoal::app {
namespace {

// CLI11's own range check calls letters "not in range".
std::function<std::string(std::string)> whole_number_within(std::pair<int, int> range) {
  return [range](const std::string& text) -> std::string {
    int number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    const bool fits =
        error == std::errc() && stop == end && number >= range.first && number <= range.second;
    if (fits) return "";
    return format("'{}' is not a whole number from {} to {}", text, range.first, range.second);
  };
}

std::string full_name(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : full_name(*parent) + " " + app.get_name();
}

[[noreturn]] void refuse_name(const CLI::App& app,
                              const std::string& kind,
                              const std::string& word,
                              const std::vector<std::string>& known) {
  const auto meant = nearest(word, {known.begin(), known.end()});
  throw UsageError(format("{} has no {} '{}'{} (see {} --help)", full_name(app), kind, word,
                          meant ? format("; did you mean '{}'?", *meant) : "", full_name(app)));
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
    } else if (!subcommands.empty() && !word.starts_with("-")) {
      std::vector<std::string> known;
      known.reserve(subcommands.size());
      for (const CLI::App* subcommand : subcommands) known.push_back(subcommand->get_name());
      const auto found = std::find(known.begin(), known.end(), word);
      if (found == known.end()) refuse_name(*app, "subcommand", word, known);
      app = subcommands[static_cast<size_t>(found - known.begin())];
    }
  }
  return *app;
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
    if (details.range) option->check(whole_number_within(*details.range));
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
  const CLI::App& meant = refuse_unknown_names(app, words);
  try {
    app.parse(
        std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 wants them in reverse
    return true;
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return false;
  } catch (const CLI::ParseError& e) {
    throw UsageError(
        format("{}: {} (see {} --help)", full_name(meant), e.what(), full_name(meant)));
  }
}

void make_output_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && std::filesystem::is_directory(path, error)) return;
  throw UsageError(format("--output is '{}', which is no directory and cannot be made one: {}",
                          path, error ? error.message() : "something else is there"));
}

}  // namespace shoal::app
