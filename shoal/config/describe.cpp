#include "shoal/config/describe.h"

#include <algorithm>

#include "shoal/config/read.h"
#include "shoal/config/text.h"
#include "shoal/core/error.h"

namespace shoal::config {
namespace {

constexpr std::string_view kMarkdownHead = R"(# Config keys

<!-- Generated from the lists of fields in shoal/config by `shoal config docs > docs/config.md`. -->

One YAML file describes a run; `--set key=value` changes single keys of it. What is not written has
the default below. `auto` means: chosen by shoal. `shoal config check FILE` prints what a file comes
to, and `shoal config help KEY` prints one entry of this page.

Editors complete and check keys with the schema beside this page, from a first line such as
`# yaml-language-server: $schema=../docs/config.schema.json`.
)";

bool is_inside(std::string_view key, std::string_view section) {
  return key.size() > section.size() && key.starts_with(section) && key[section.size()] == '.';
}

void append_help(const Entry& entry, std::string& text) {
  constexpr std::string_view kIndent = "    ";
  text += entry.key + "\n" + wrapped(entry.help, kIndent);
  if (!entry.field) return;
  const std::string words = in_words(entry.field->shape);
  text += wrapped(format("value: {}; default: {}", words, entry.field->write()), kIndent);
}

// A | would end the cell.
std::string in_cell(std::string text) {
  size_t at = 0;
  while ((at = text.find('|', at)) != std::string::npos) {
    text.insert(at, "\\");
    at += 2;
  }
  return text;
}

void append_rows(const Table& table, std::string_view section, std::string& text) {
  text += "\n| key | value | default | meaning |\n|---|---|---|---|\n";
  for (const Entry& entry : table) {
    if (!entry.field || entry.parent() != section) continue;
    text += format("| `{}` | {} | `{}` | {} |\n", entry.key, in_cell(in_words(entry.field->shape)),
                   in_cell(entry.field->write()), in_cell(entry.help));
  }
}

}  // namespace

std::string to_help(const Table& table, std::string_view key) {
  if (!key.empty() && find_entry(table, key) == nullptr) {
    const size_t dot = key.rfind('.');
    const std::string_view parent = dot == std::string_view::npos ? "" : key.substr(0, dot);
    throw UsageError(format("{} is not a key of shoal\n  -> {}", shown(key),
                            unknown_key_hint(table, parent, key.substr(dot + 1))));
  }
  std::string text;
  for (const Entry& entry : table) {
    if (key.empty() || entry.key == key || is_inside(entry.key, key)) append_help(entry, text);
  }
  return text;
}

std::string to_markdown(const Table& table) {
  std::string text(kMarkdownHead);
  append_rows(table, "", text);
  for (const Entry& entry : table) {
    if (entry.field) continue;
    text += format("\n## {}\n\n{}\n", entry.key, entry.help);
    append_rows(table, entry.key, text);
  }
  return text;
}

}  // namespace shoal::config
