// environment.h -- the environment variables that a launcher gives to its ranks, as a value.
//
// It is passed in instead of read with getenv(), so that a test can be a Slurm task and a rank at
// once. Numbers are checked here: a variable that should be a number and is not throws a UsageError
// that names it.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace shoal::cluster {

class Environment {
 public:
  Environment() = default;
  explicit Environment(std::map<std::string, std::string> variables)
      : variables_(std::move(variables)) {}

  static Environment of_this_process();

  [[nodiscard]] bool has(const std::string& name) const { return get(name).has_value(); }
  // Returns nothing for a variable that is unset or empty.
  [[nodiscard]] std::optional<std::string> get(const std::string& name) const;
  [[nodiscard]] std::string get_or(const std::string& name, const std::string& fallback) const;
  [[nodiscard]] std::optional<int> get_number(const std::string& name) const;  // 0 or more
  [[nodiscard]] std::optional<int> get_port(const std::string& name) const;    // 1 to 65535
  [[nodiscard]] int require_number(const std::string& name) const;

 private:
  std::map<std::string, std::string> variables_;
};

}  // namespace shoal::cluster
