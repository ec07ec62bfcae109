#include "app/report.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "shoal/core/format.h"

namespace shoal::app {
namespace {

// Columns for the names of facts.
constexpr size_t kNarrowest = 18;
constexpr size_t kWidest = 48;

std::string to_shown(const nlohmann::ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const auto& element : value) text += (text.empty() ? "" : ", ") + to_shown(element);
  return text;
}

nlohmann::ordered_json to_json(const Report::Named& named);

template <class T>
nlohmann::ordered_json to_json(const T& value) {
  return value;
}

template <class... Types>
nlohmann::ordered_json to_json(const std::variant<Types...>& value) {
  return std::visit([](const auto& held) { return to_json(held); }, value);
}

nlohmann::ordered_json to_json(const Report::Named& named) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const auto& [name, value] : named) object[name] = to_json(value);
  return object;
}

}  // namespace

Report::Section& Report::Section::add(const std::string& name,
                                      const Value& value,
                                      const std::string& shown) {
  facts_.push_back({name, value, shown.empty() ? Report::shown(value) : shown});
  return *this;
}

Report::Section& Report::section(const std::string& name) { return sections_.emplace_back(name); }

std::string Report::shown(const Value& value) { return to_shown(to_json(value.value_)); }

std::string Report::text() const {
  std::string text;
  for (const Section& section : sections_) {
    size_t width = kNarrowest;
    for (const auto& fact : section.facts_)
      width = std::max(width, std::min(fact.name.size(), kWidest));
    if (!section.name_.empty()) text += section.name_ + "\n";
    for (const auto& fact : section.facts_)
      text += format("  {:<{}} {}\n", fact.name, width, fact.shown);
  }
  return text;
}

std::string Report::json() const {
  nlohmann::ordered_json root = nlohmann::ordered_json::object();
  for (const Section& section : sections_) {
    nlohmann::ordered_json& object = section.name_.empty() ? root : root[section.name_];
    for (const auto& fact : section.facts_) object[fact.name] = to_json(fact.value.value_);
  }
  return root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace shoal::app
