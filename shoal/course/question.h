// question.h -- a question of a lab: what is asked, what an answer looks like, and how it is judged.
//
//   const Question question = whole("steps", "How many steps does the ring take?",
//                                   "Both halves take ranks - 1 steps.", 6);
//   question.judge(nullptr, "lab1").outcome       // Outcome::kMissing
//
// Expected values are passed in by the labs, which compute them with the functions that the commands
// call; no answer is written down here. A hint says how to get there, and not what comes out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "shoal/config/yaml_node.h"

namespace shoal::course {

enum class Outcome {
  kRight,
  kNotYet,     // another value is right
  kMissing,    // no answer was given
  kMalformed,  // the answer is not of the form that is asked for
};

struct Verdict {
  Outcome outcome = Outcome::kMissing;
  std::string note{};  // why not, and a hint; empty when it is right
};

using Row = std::vector<double>;
using Matrix = std::vector<Row>;

struct Question {
  std::string key{};
  std::string text{};
  // What an answer looks like: "a whole number". Empty where the work itself is looked at, which the
  // lab's directory holds: such a question has no line in answers.yaml.
  std::string form{};
  // Judges an answer, which is null when there is none, in the lab's directory.
  std::function<Verdict(const config::YamlNode* answer, const std::filesystem::path& directory)>
      judge{};
};

// An expected value that is computed once there is an answer to compare it with: because it takes
// seconds, or follows from what a student's run left in the lab's directory. It may throw an Error with
// the reason why it is not known yet.
template <class Value>
using Later = std::function<Value(const std::filesystem::path& directory)>;

// A whole number, exactly.
Question whole(std::string key, std::string text, std::string hint, int64_t right);
Question whole(std::string key, std::string text, std::string hint, Later<int64_t> right);

// A number that may be off by a share of the right one, which the question tells.
Question decimal(
    std::string key, std::string text, std::string hint, double right, double tolerance);
Question decimal(
    std::string key, std::string text, std::string hint, Later<double> right, double tolerance);

// A list of numbers, [1, 2, 3], exactly but for the last bits of decimals.
Question list(std::string key, std::string text, std::string hint, Row right);

// A matrix as a list of rows, [[1, 2], [3, 4]], likewise.
Question matrix(std::string key, std::string text, std::string hint, Matrix right);

// One of a few words, of which `right` is one.
Question choice(std::string key,
                std::string text,
                std::string hint,
                std::vector<std::string> words,
                std::string right);
Question choice(std::string key,
                std::string text,
                std::string hint,
                std::vector<std::string> words,
                Later<std::string> right);

// Any text; case and blanks around it do not count.
Question word(std::string key, std::string text, std::string hint, std::string right);

// Work that is looked at: `missing` returns what is not done yet, or an empty text, and may throw
// DataError instead.
Question deed(std::string key,
              std::string text,
              std::function<std::string(const std::filesystem::path& directory)> missing);

}  // namespace shoal::course
