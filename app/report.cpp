#include "app/report.h"

#include "shoal/core/format.h"

namespace shoal::app {
namespace {

std::string to_shown(const nlohmann::ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const auto& element : value) text += (text.empty() ? "" : ", ") + to_shown(element);
  return text;
}

}  // namespace

Report::Section& Report::Section::add(const std::string& name,
                                      nlohmann::ordered_json value,
                                      const std::string& shown) {
  std::string text = shown.empty() ? to_shown(value) : shown;
  facts_.push_back({name, std::move(value), std::move(text)});
  return *this;
}

Report::Section& Report::section(const std::string& name) { return sections_.emplace_back(name); }

std::string Report::text() const {
  std::string text;
  for (const Section& section : sections_) {
    text += section.name_ + "\n";
    for (const auto& fact : section.facts_) text += format("  {:<18} {}\n", fact.name, fact.shown);
  }
  return text;
}

std::string Report::json() const {
  nlohmann::ordered_json root = nlohmann::ordered_json::object();
  for (const Section& section : sections_) {
    for (const auto& fact : section.facts_) root[section.name_][fact.name] = fact.value;
  }
  return root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace shoal::app
