// report.h -- facts in sections, for people and for programs.
//
//   Report report;
//   report.section("host").add("name", "n1").add("cores", 2);
//   report.text()   // "host\n  name    n1\n  cores   2\n"
//   report.json()   // {"host": {"name": "n1", "cores": 2}}
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace shoal::app {

class Report {
 public:
  class Section {
   public:
    explicit Section(std::string name) : name_(std::move(name)) {}

    // `value` as it goes into JSON; `shown` if people should read it differently.
    Section& add(const std::string& name,
                 nlohmann::ordered_json value,
                 const std::string& shown = "");

   private:
    friend class Report;

    struct Fact {
      std::string name;
      nlohmann::ordered_json value;
      std::string shown;
    };

    std::string name_;
    std::vector<Fact> facts_;
  };

  Section& section(const std::string& name);  // stays where it is while others are added

  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string json() const;

 private:
  std::deque<Section> sections_;
};

}  // namespace shoal::app
