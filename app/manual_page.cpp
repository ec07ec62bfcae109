#include "app/manual_page.h"

#include <algorithm>
#include <sstream>

#include "shoal/core/format.h"
#include "shoal/version.h"

namespace shoal::app {
namespace {

// Paragraphs of prose; lines that are indented, which are commands, stay as they are.
std::string paragraphs(const std::string& text) {
  std::string page;
  bool verbatim = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool indented = line.starts_with("  ");
    if (indented != verbatim) page += indented ? ".PP\n.nf\n" : ".fi\n";
    verbatim = indented;
    if (line.empty()) {
      page += ".PP\n";
    } else {
      page += escaped_for_man(line) + "\n";
    }
  }
  return page + (verbatim ? ".fi\n" : "");
}

std::string italic(const std::string& text) { return "\\fI" + escaped_for_man(text) + "\\fR"; }
std::string bold(const std::string& text) { return "\\fB" + escaped_for_man(text) + "\\fR"; }

std::string usage_of(const OptionText& option) {
  if (option.name.empty()) return italic(option.shown);
  return bold(option.name) + (option.shown.empty() ? "" : " " + italic(option.shown));
}

std::string synopsis(const CommandText& command) {
  std::string text = bold(command.name);
  for (const OptionText& option : command.options) {
    if (option.name == "--help") continue;
    text += option.required ? " " + usage_of(option) : " [" + usage_of(option) + "]";
  }
  if (!command.subcommands.empty()) text += " " + italic("SUBCOMMAND");
  return text + "\n";
}

std::string options_of(const CommandText& command) {
  std::string text;
  for (const OptionText& option : command.options)
    text += ".TP\n" + usage_of(option) + "\n" + escaped_for_man(option.help) + "\n";
  return text;
}

// "shoal plan search" has the page shoal-plan-search(1).
std::string page_name(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

}  // namespace

std::string escaped_for_man(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";  // a plain one may become a hyphen that nobody can paste
    } else if (c == '\n') {
      escaped += ' ';
    } else {
      escaped += c;
    }
  }
  // A line must not begin with what asks for a macro.
  if (escaped.starts_with('.') || escaped.starts_with('\'')) escaped.insert(0, "\\&");
  return escaped;
}

std::string manual_page(const CommandText& command) {
  const std::string summary = command.description.substr(0, command.description.find('\n'));
  const std::string name = page_name(command.name);
  std::string page = format(".TH \"{}\" 1 \"\" \"shoal {}\" \"shoal manual\"\n", name, kVersion);
  page += ".SH NAME\n" + escaped_for_man(name) + " \\- " + escaped_for_man(summary) + "\n";
  page += ".SH SYNOPSIS\n" + synopsis(command);
  page += ".SH DESCRIPTION\n" + paragraphs(command.description);
  page += ".SH OPTIONS\n" + options_of(command);
  if (!command.subcommands.empty()) page += ".SH SUBCOMMANDS\n";
  for (const CommandText& subcommand : command.subcommands) {
    page += ".SS \"" + escaped_for_man(subcommand.name) + "\"\n" + synopsis(subcommand) + ".PP\n" +
            paragraphs(subcommand.description) + options_of(subcommand);
    if (!subcommand.footer.empty()) page += ".PP\n" + paragraphs(subcommand.footer);
  }
  if (!command.footer.empty()) page += ".SH NOTES\n" + paragraphs(command.footer);
  return page + ".SH SEE ALSO\n" + bold("shoal") + "(1)\n";
}

}  // namespace shoal::app
