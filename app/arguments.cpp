#include "app/arguments.h"

#include <iostream>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "shoal/core/error.h"

namespace shoal::app {

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
    if (details.range) option->check(CLI::Range(details.range->first, details.range->second));
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
  try {
    app.parse(
        std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 wants them in reverse
    return true;
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return false;
  } catch (const CLI::ParseError& e) {
    throw UsageError(format("{}: {} (see {} --help)", app.get_name(), e.what(), app.get_name()));
  }
}

}  // namespace shoal::app
