// report.h -- facts in sections, for people and for programs.
//
//   Report report;
//   report.section("host").add("name", "n1").add("cores", 2);
//   report.text()   // "host\n  name               n1\n  cores              2\n"
//   report.json()   // {"host": {"name": "n1", "cores": 2}}, a line for each
#pragma once

#include <concepts>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace shoal::app {

class Report {
 public:
  // An object of JSON: names and what they are.
  using Named =
      std::vector<std::pair<std::string, std::variant<bool, int64_t, double, std::string>>>;

  // A fact as it goes into JSON. Made of the types of this language, so that their users need not
  // compile a JSON library.
  class Value {
   public:
    // NOLINTBEGIN(google-explicit-constructor)
    Value(bool value) : value_(value) {}
    Value(double value) : value_(value) {}
    Value(const char* value) : value_(std::string(value)) {}
    Value(std::string value) : value_(std::move(value)) {}
    Value(std::vector<std::string> value) : value_(std::move(value)) {}
    Value(std::vector<int64_t> value) : value_(std::move(value)) {}
    Value(std::vector<double> value) : value_(std::move(value)) {}
    Value(std::initializer_list<double> value) : value_(std::vector<double>(value)) {}
    Value(Named value) : value_(std::move(value)) {}
    template <std::integral Number>
    Value(Number value) : value_(static_cast<int64_t>(value)) {}
    // NOLINTEND(google-explicit-constructor)

   private:
    friend class Report;

    std::variant<bool,
                 int64_t,
                 double,
                 std::string,
                 std::vector<std::string>,
                 std::vector<int64_t>,
                 std::vector<double>,
                 Named>
        value_;
  };

  class Section {
   public:
    explicit Section(std::string name) : name_(std::move(name)) {}

    // `value` as it goes into JSON; `shown` if people should read it differently.
    Section& add(const std::string& name, const Value& value, const std::string& shown = "");

   private:
    friend class Report;

    struct Fact {
      std::string name;
      Value value;
      std::string shown;
    };

    std::string name_;
    std::vector<Fact> facts_;
  };

  // Adds a section, which stays where it is while others are added. Facts of one without a name
  // are not indented below anything, in JSON neither.
  Section& section(const std::string& name);

  [[nodiscard]] std::string text() const;  // a list as "a, b", a truth as yes or no
  [[nodiscard]] std::string json() const;

 private:
  static std::string shown(const Value& value);

  std::deque<Section> sections_;
};

}  // namespace shoal::app
