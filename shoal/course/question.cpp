#include "shoal/course/question.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <utility>

#include "shoal/config/text.h"
#include "shoal/config/value.h"
#include "shoal/core/error.h"

namespace shoal::course {
namespace {

namespace fs = std::filesystem;
using config::YamlNode;

constexpr double kLastBits = 1e-9;  // what typed decimals may be off

bool is_given(const YamlNode* answer) {
  return answer != nullptr && answer->kind != YamlNode::Kind::kNull &&
         !(answer->kind == YamlNode::Kind::kText && answer->text.empty());
}

Verdict missing() { return {.outcome = Outcome::kMissing, .note = "no answer yet"}; }

Verdict malformed(const std::string& what, const std::string& form) {
  return {.outcome = Outcome::kMalformed, .note = format("{}; the answer is {}", what, form)};
}

Verdict judged(bool right, const std::string& shown, const std::string& hint) {
  if (right) return {.outcome = Outcome::kRight};
  return {.outcome = Outcome::kNotYet, .note = format("not {}. {}", shown, hint)};
}

bool is_close(double answer, double right, double tolerance) {
  return std::abs(answer - right) <= tolerance * std::abs(right) + kLastBits;
}

// Returns why the node is no number, or nothing.
std::optional<std::string> read_number(const YamlNode& node, double& out) {
  if (node.kind != YamlNode::Kind::kText) return "this is not one number";
  if (auto refusal = config::read_value(node, out)) return refusal->what;
  if (!std::isfinite(out)) return "this is not a finite number";
  return std::nullopt;
}

std::optional<std::string> read_row(const YamlNode& node, Row& out) {
  if (node.kind != YamlNode::Kind::kList) return "this is not a list";
  for (const YamlNode& item : node.items) {
    double value = 0;
    if (auto what = read_number(item, value)) return what;
    out.push_back(value);
  }
  return std::nullopt;
}

std::optional<std::string> read_matrix(const YamlNode& node, Matrix& out) {
  if (node.kind != YamlNode::Kind::kList) return "this is not a list of rows";
  for (const YamlNode& item : node.items) {
    if (auto what = read_row(item, out.emplace_back())) return what;
  }
  return std::nullopt;
}

std::string shown_row(const Row& row) {
  std::string text;
  for (const double value : row) text += (text.empty() ? "" : ", ") + format("{:.6g}", value);
  return "[" + text + "]";
}

std::string shown_matrix(const Matrix& rows) {
  std::string text;
  for (const Row& row : rows) text += (text.empty() ? "" : ", ") + shown_row(row);
  return "[" + text + "]";
}

bool same(const Row& answer, const Row& right) {
  return std::equal(answer.begin(), answer.end(), right.begin(), right.end(),
                    [](double a, double b) { return is_close(a, b, 0); });
}

std::string plain(std::string_view text) {
  std::string lower;
  for (const char c : text) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const size_t begin = lower.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return lower.substr(begin, lower.find_last_not_of(" \t") - begin + 1);
}

std::string alternatives(const std::vector<std::string>& words) {
  return "one of: " + listed(words);
}

// Compares with a value that may not be known yet.
template <class Value, class IsRight>
Verdict compared(const Later<Value>& right,
                 const fs::path& directory,
                 const IsRight& is_right,
                 const std::string& shown,
                 const std::string& hint) {
  try {
    return judged(is_right(right(directory)), shown, hint);
  } catch (const BugError&) {
    throw;
  } catch (const Error& error) {
    return {.outcome = Outcome::kNotYet, .note = error.what()};
  }
}

}  // namespace

Question whole(std::string key, std::string text, std::string hint, int64_t right) {
  return whole(std::move(key), std::move(text), std::move(hint),
               [right](const fs::path&) { return right; });
}

Question whole(std::string key, std::string text, std::string hint, Later<int64_t> right) {
  const std::string form = "a whole number";
  return {.key = std::move(key),
          .text = std::move(text),
          .form = form,
          .judge = [=, hint = std::move(hint), right = std::move(right)](
                       const YamlNode* answer, const fs::path& directory) {
            if (!is_given(answer)) return missing();
            int64_t value = 0;
            if (answer->kind != YamlNode::Kind::kText)
              return malformed("this is not one number", form);
            if (auto refusal = config::read_value(*answer, value))
              return malformed(refusal->what, form);
            return compared(
                right, directory, [&](int64_t expected) { return value == expected; },
                format("{}", value), hint);
          }};
}

Question decimal(
    std::string key, std::string text, std::string hint, double right, double tolerance) {
  return decimal(
      std::move(key), std::move(text), std::move(hint), [right](const fs::path&) { return right; },
      tolerance);
}

Question decimal(
    std::string key, std::string text, std::string hint, Later<double> right, double tolerance) {
  const std::string form = format("a number; {:.2g} % off is right", 100 * tolerance);
  return {.key = std::move(key),
          .text = std::move(text),
          .form = form,
          .judge = [=, hint = std::move(hint), right = std::move(right)](
                       const YamlNode* answer, const fs::path& directory) {
            if (!is_given(answer)) return missing();
            double value = 0;
            if (auto what = read_number(*answer, value)) return malformed(*what, form);
            return compared(
                right, directory,
                [&](double expected) { return is_close(value, expected, tolerance); },
                format("{:.6g}", value), hint);
          }};
}

Question list(std::string key, std::string text, std::string hint, Row right) {
  const std::string form = format("a list of {} numbers: [1, 2, ...]", right.size());
  return {.key = std::move(key),
          .text = std::move(text),
          .form = form,
          .judge = [=, hint = std::move(hint), right = std::move(right)](const YamlNode* answer,
                                                                         const fs::path&) {
            if (!is_given(answer)) return missing();
            Row row;
            if (auto what = read_row(*answer, row)) return malformed(*what, form);
            return judged(same(row, right), shown_row(row), hint);
          }};
}

Question matrix(std::string key, std::string text, std::string hint, Matrix right) {
  const std::string form = format("a list of {} rows of {}: [[1, ...], [2, ...]]", right.size(),
                                  right.empty() ? 0 : right.front().size());
  return {.key = std::move(key),
          .text = std::move(text),
          .form = form,
          .judge = [=, hint = std::move(hint), right = std::move(right)](const YamlNode* answer,
                                                                         const fs::path&) {
            if (!is_given(answer)) return missing();
            Matrix rows;
            if (auto what = read_matrix(*answer, rows)) return malformed(*what, form);
            const bool equal = std::equal(rows.begin(), rows.end(), right.begin(), right.end(),
                                          [](const Row& a, const Row& b) { return same(a, b); });
            return judged(equal, shown_matrix(rows), hint);
          }};
}

Question choice(std::string key,
                std::string text,
                std::string hint,
                std::vector<std::string> words,
                std::string right) {
  SHOAL_CHECK(std::find(words.begin(), words.end(), right) != words.end(),
              "{} is none of the words that {} takes", right, key);
  return choice(std::move(key), std::move(text), std::move(hint), std::move(words),
                [right = std::move(right)](const fs::path&) { return right; });
}

Question choice(std::string key,
                std::string text,
                std::string hint,
                std::vector<std::string> words,
                Later<std::string> right) {
  const std::string form = alternatives(words);
  return {.key = std::move(key),
          .text = std::move(text),
          .form = form,
          .judge = [=, hint = std::move(hint), words = std::move(words), right = std::move(right)](
                       const YamlNode* answer, const fs::path& directory) {
            if (!is_given(answer)) return missing();
            if (answer->kind != YamlNode::Kind::kText) return malformed("this is no word", form);
            const std::string given = plain(answer->text);
            if (std::find(words.begin(), words.end(), given) == words.end())
              return malformed(config::shown(answer->text) + " is none of them", form);
            return compared(
                right, directory, [&](const std::string& expected) { return given == expected; },
                given, hint);
          }};
}

Question word(std::string key, std::string text, std::string hint, std::string right) {
  return {.key = std::move(key),
          .text = std::move(text),
          .form = "a few letters",
          .judge = [hint = std::move(hint), right = std::move(right)](const YamlNode* answer,
                                                                      const fs::path&) {
            if (!is_given(answer)) return missing();
            if (answer->kind != YamlNode::Kind::kText)
              return malformed("this is no word", "a few letters");
            return judged(plain(answer->text) == plain(right), config::shown(answer->text), hint);
          }};
}

Question deed(std::string key,
              std::string text,
              std::function<std::string(const fs::path& directory)> missing) {
  return {.key = std::move(key),
          .text = std::move(text),
          .judge = [missing = std::move(missing)](const YamlNode*, const fs::path& directory) {
            std::string what;
            try {
              what = missing(directory);
            } catch (const BugError&) {
              throw;
            } catch (const Error& error) {
              what = error.what();
            }
            return Verdict{.outcome = what.empty() ? Outcome::kRight : Outcome::kNotYet,
                           .note = what};
          }};
}

}  // namespace shoal::course
