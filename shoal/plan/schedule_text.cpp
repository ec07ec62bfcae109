#include "shoal/plan/schedule_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_set>

#include "shoal/config/text.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/number_in.h"

namespace shoal::plan {
namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 26;
constexpr size_t kMaxShown = 40;  // characters of an unknown word
constexpr std::array<char, kNumOps> kLetters = {'F', 'B'};
constexpr std::string_view kBlanks = " \t\r";

// Removes and returns the text before the separator; the separator is removed too.
std::string_view take_until(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
  text.remove_prefix(word.size());
  return word;
}

// Parses a number of digits only, less than `limit`.
std::optional<int> to_number(std::string_view text, int limit) {
  const std::optional<int> number = number_in<int>(text);
  return number && text.front() != '-' && *number < limit ? number : std::nullopt;
}

class Reader {
 public:
  explicit Reader(std::string_view name) : name_(name) {}

  Schedule read(std::string_view text) {
    if (text.size() > kMaxFileBytes) {
      throw DataError(format("{} has {} bytes, more than any schedule: {} are allowed", name_,
                             text.size(), kMaxFileBytes));
    }
    while (!text.empty()) {
      ++line_;
      std::string_view line = take_until(text, '\n');
      read_line(take_until(line, '#'));
    }
    return finish();
  }

 private:
  struct RankLine {
    size_t line = 0;
    std::vector<Action> actions{};
  };

  [[noreturn]] void refuse(const std::string& why) const {
    throw DataError(format("{}:{}: {}", name_, line_, config::printable(why)));
  }

  void read_line(std::string_view line) {
    if (line.find_first_not_of(kBlanks) == line.npos) return;
    const size_t colon = line.find(':');
    std::string_view head = line.substr(0, colon);
    const std::string_view keyword = take_word(head);
    const std::string_view number = take_word(head);
    const bool is_rank_line = colon != line.npos && keyword == "rank" && take_word(head).empty();
    if (!is_rank_line) {
      refuse(format("a line begins like 'rank 0:', not like '{}'",
                    line.substr(0, std::min(colon, kMaxShown))));
    }
    const std::optional<int> rank = to_number(number, kMaxPipelineRanks);
    if (!rank) {
      refuse(format("'{}' is not the number of a rank, which is from 0 to {}",
                    number.substr(0, kMaxShown), kMaxPipelineRanks - 1));
    }
    const auto [place, is_new] = ranks_.try_emplace(*rank, RankLine{.line = line_});
    if (!is_new) refuse(format("rank {} was on line {} already", *rank, place->second.line));
    read_actions(line.substr(colon + 1), place->second.actions);
  }

  void read_actions(std::string_view line, std::vector<Action>& actions) {
    std::unordered_set<uint64_t> seen;
    for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
      const Action action = read_action(word);
      const auto key = (static_cast<uint64_t>(action.micro_batch) * kMaxChunks +
                        static_cast<uint64_t>(action.chunk)) *
                           kNumOps +
                       static_cast<uint64_t>(action.op);
      if (!seen.insert(key).second) refuse(format("{} is on this line twice", word));
      if (++count_ > kMaxActions) refuse(format("there are more than {} actions", kMaxActions));
      actions.push_back(action);
    }
  }

  Action read_action(std::string_view word) {
    const auto* const letter = std::find(kLetters.begin(), kLetters.end(), word.front());
    std::string_view chunk_text = word.substr(1);
    const bool has_chunk = chunk_text.find('.') != chunk_text.npos;
    const std::string_view micro_batch_text = take_until(chunk_text, '.');
    const auto micro_batch = to_number(micro_batch_text, kMaxMicroBatches);
    const auto chunk = has_chunk ? to_number(chunk_text, kMaxChunks) : std::optional(0);
    if (letter == kLetters.end() || !micro_batch || !chunk) {
      refuse(
          format("'{}' is no action: write F or B, the micro-batch (0 to {}), and behind a dot the "
                 "chunk (0 to {}) if a rank has several",
                 word.substr(0, kMaxShown), kMaxMicroBatches - 1, kMaxChunks - 1));
    }
    shape_.micro_batches = std::max(shape_.micro_batches, *micro_batch + 1);
    shape_.chunks = std::max(shape_.chunks, *chunk + 1);
    return {static_cast<Op>(letter - kLetters.begin()), *micro_batch, *chunk};
  }

  Schedule finish() {
    if (ranks_.empty()) throw DataError(format("{} has no line that begins like 'rank 0:'", name_));
    shape_.ranks = ranks_.rbegin()->first + 1;
    std::vector<std::vector<Action>> actions;
    for (auto& [rank, found] : ranks_) {
      if (static_cast<size_t>(rank) != actions.size()) {
        throw DataError(format("{} has a line for rank {}, but none for rank {}", name_,
                               shape_.ranks - 1, actions.size()));
      }
      actions.push_back(std::move(found.actions));
    }
    try {
      return {shape_, std::move(actions)};
    } catch (const UsageError& e) {
      throw DataError(format("{}: {}", name_, e.what()));
    }
  }

  std::string_view name_;
  size_t line_ = 0;
  int64_t count_ = 0;
  PipelineShape shape_;
  std::map<int, RankLine> ranks_;
};

}  // namespace

std::string action_name(const Action& action, const PipelineShape& shape) {
  std::string name = kLetters[static_cast<size_t>(action.op)] + std::to_string(action.micro_batch);
  if (shape.chunks > 1) name += "." + std::to_string(action.chunk);
  return name;
}

std::string to_text(const Schedule& schedule) {
  std::string text;
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    text += format("rank {}:", rank);
    for (const Action& action : schedule.actions(rank))
      text += " " + action_name(action, schedule.shape());
    text += "\n";
  }
  return text;
}

Schedule schedule_from_text(std::string_view text, std::string_view name) {
  return Reader(name).read(text);
}

Schedule read_schedule(const std::filesystem::path& path) {
  return schedule_from_text(read_file(path, kMaxFileBytes), path.string());
}

}  // namespace shoal::plan
