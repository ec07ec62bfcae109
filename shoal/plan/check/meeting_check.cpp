#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "shoal/plan/program_check.h"
#include "shoal/plan/program_text.h"
#include "shoal/plan/sharding.h"
#include "shoal/plan/volume.h"

namespace shoal::plan {
namespace {

// A message: the pass, the receiving stage, and the micro-batch.
using Message = std::tuple<Op, int, int>;

std::string words_of(const Message& message) {
  const auto& [pass, stage, micro_batch] = message;
  return format("{} of micro-batch {} for stage {}",
                pass == Op::kForward ? "activations" : "gradients", micro_batch, stage);
}

enum class Semantics {
  kBuffered,    // a send waits for nobody, and a receive takes the message with its tag
  kRendezvous,  // transfers of a rank run one after the other, and a send waits for its receive
};

// Walks through the program of one rank, as far as other ranks are concerned.
class Walker {
 public:
  Walker(const CheckedRank& rank, Semantics semantics)
      : plan_(*rank.plan), program_(*rank.program), semantics_(semantics) {}

  struct Transfer {
    bool sends = false;
    bool receives = false;  // both: an exchange of the tied gradient
    int peer = 0;
    Message message;
    size_t line = 0;
    bool done = false;
  };

  // Goes on until something is awaited. Returns whether it made progress.
  bool advance() {
    const size_t began = line_;
    for (; line_ < program_.size() && passes(program_[line_]); ++line_) {
    }
    return line_ > began;
  }

  [[nodiscard]] bool finished() const { return line_ == program_.size(); }
  [[nodiscard]] int rank() const { return plan_.pipeline_rank; }

  // Returns the first posted transfer that is not over.
  Transfer* next() {
    while (next_ < posted_.size() && posted_[next_].done) ++next_;
    return next_ < posted_.size() ? &posted_[next_] : nullptr;
  }
  std::vector<Transfer>& posted() { return posted_; }

  // Returns the collective of the whole pipeline that the rank is at, if any.
  [[nodiscard]] std::optional<OpKind> meets_all() const {
    if (finished()) return std::nullopt;
    const OpKind kind = program_[line_].kind;
    return is_of_all(kind) ? std::optional(kind) : std::nullopt;
  }
  void leave_meeting() { ++line_; }

  [[nodiscard]] config::Problem stands(const std::string& why) const {
    return {.where = format("rank {}, line {}", plan_.rank, line_),
            .what = format("{} waits for ever: {}", describe(plan_, program_[line_]), why)};
  }
  [[nodiscard]] int global_rank() const { return plan_.rank; }

 private:
  [[nodiscard]] static bool is_of_all(OpKind kind) {
    return kind == OpKind::kSumLoss || kind == OpKind::kNorm;
  }

  [[nodiscard]] Message message_of(const Operation& operation, bool receives) const {
    const int stage = plan_.schedule.stage_of(plan_.pipeline_rank, operation.chunk);
    if (receives) return {operation.pass, stage, operation.micro_batch};
    return {operation.pass, operation.pass == Op::kForward ? stage + 1 : stage - 1,
            operation.micro_batch};
  }

  void post(const Operation& operation, bool sends, bool receives) {
    Transfer transfer{.sends = sends, .receives = receives, .peer = operation.peer, .line = line_};
    if (sends && receives) {
      transfer.peer = plan_.pipeline_rank == 0 ? plan_.schedule.ranks() - 1 : 0;
    } else {
      transfer.message = message_of(operation, receives);
      numbers_[{receives, transfer.message}] = posted_.size();
    }
    transfer.done = sends && !receives && semantics_ == Semantics::kBuffered;
    posted_.push_back(transfer);
  }

  // Returns whether the program can go on past an operation.
  bool passes(const Operation& operation) {
    switch (operation.kind) {
      case OpKind::kReceive:
        post(operation, /*sends=*/false, /*receives=*/true);
        return true;
      case OpKind::kSend:
        post(operation, /*sends=*/true, /*receives=*/false);
        return true;
      case OpKind::kAwaitReceive:
      case OpKind::kAwaitSend: {
        const bool receives = operation.kind == OpKind::kAwaitReceive;
        const auto number = numbers_.find({receives, message_of(operation, receives)});
        return number != numbers_.end() && posted_[number->second].done;
      }
      case OpKind::kExchangeTied:
        if (!exchanging_) post(operation, /*sends=*/true, /*receives=*/true);
        exchanging_ = !posted_.back().done;
        return posted_.back().done;
      default:
        return !is_of_all(operation.kind);
    }
  }

  const RankPlan& plan_;
  const Program& program_;
  Semantics semantics_;
  size_t line_ = 0;
  size_t next_ = 0;
  bool exchanging_ = false;
  std::vector<Transfer> posted_;
  std::map<std::pair<bool, Message>, size_t> numbers_;
};

class Meeting {
 public:
  Meeting(std::span<const CheckedRank> pipeline, Semantics semantics) : semantics_(semantics) {
    for (const CheckedRank& rank : pipeline) walkers_.emplace_back(rank, semantics);
  }

  std::optional<config::Problem> problem() {
    bool moved = true;
    while (moved && !wrong_) {
      moved = false;
      for (Walker& walker : walkers_) moved |= walker.advance();
      for (Walker& walker : walkers_) moved |= deliver_to(walker);
      moved |= leave_meeting();
    }
    if (wrong_) return wrong_;
    for (Walker& walker : walkers_) {
      if (!walker.finished()) return walker.stands(reason(walker));
    }
    return std::nullopt;
  }

 private:
  Walker& at(int rank) { return walkers_[static_cast<size_t>(rank)]; }

  bool deliver_to(Walker& walker) {
    return semantics_ == Semantics::kBuffered ? deliver_by_tag(walker) : deliver_in_order(walker);
  }

  bool deliver_by_tag(Walker& walker) {
    std::vector<Walker::Transfer>& posted = walker.posted();
    size_t& looked_at = looked_at_[walker.rank()];
    for (; looked_at < posted.size(); ++looked_at) {
      const Walker::Transfer& each = posted[looked_at];
      if (each.sends && !each.receives) arrived_.insert({walker.rank(), each.peer, each.message});
    }
    bool delivered = false;
    Walker::Transfer* const first = walker.next();
    if (first == nullptr) return false;
    for (Walker::Transfer* each = first; each != posted.data() + posted.size(); ++each) {
      if (each->done) continue;
      if (each->sends) {
        delivered |= exchange(walker, *each);
      } else if (arrived_.erase({each->peer, walker.rank(), each->message}) > 0) {
        each->done = delivered = true;
      }
    }
    return delivered;
  }

  bool deliver_in_order(Walker& walker) {
    bool delivered = false;
    for (Walker::Transfer* next = walker.next(); next != nullptr; next = walker.next()) {
      Walker& other = at(next->peer);
      Walker::Transfer* const theirs = other.next();
      if (theirs == nullptr || theirs->peer != walker.rank()) return delivered;
      if (next->sends && next->receives) return exchange(walker, *next) || delivered;
      if (theirs->sends == next->sends) return delivered;
      if (theirs->message != next->message) {
        const Walker::Transfer& sent = next->sends ? *next : *theirs;
        const Walker::Transfer& taken = next->sends ? *theirs : *next;
        Walker& sender = next->sends ? walker : other;
        Walker& taker = next->sends ? other : walker;
        wrong_ = {.where = format("rank {}, line {}", taker.global_rank(), taken.line),
                  .what = format("gets {} from line {} of rank {}, and expects {}",
                                 words_of(sent.message), sent.line, sender.global_rank(),
                                 words_of(taken.message))};
        return false;
      }
      next->done = theirs->done = delivered = true;
    }
    return delivered;
  }

  bool exchange(Walker& walker, Walker::Transfer& mine) {
    Walker::Transfer* const theirs = at(mine.peer).next();
    const bool meets =
        theirs != nullptr && theirs->sends && theirs->receives && theirs->peer == walker.rank();
    if (meets) mine.done = theirs->done = true;
    return meets;
  }

  bool leave_meeting() {
    for (const Walker& walker : walkers_) {
      if (!walker.meets_all() || walker.meets_all() != walkers_.front().meets_all()) return false;
    }
    for (Walker& walker : walkers_) walker.leave_meeting();
    return true;
  }

  // Returns why a rank does not go on.
  std::string reason(Walker& walker) {
    if (walker.meets_all()) return "not all ranks of the pipeline come to it";
    const Walker::Transfer* const next = walker.next();
    if (next == nullptr) return "nothing was posted for it";
    const Walker::Transfer* const theirs = at(next->peer).next();
    return format("it first has to {} {} with rank {}, which {}", next->sends ? "send" : "receive",
                  words_of(next->message), at(next->peer).global_rank(),
                  theirs == nullptr
                      ? std::string("has posted nothing for it")
                      : format("first has to {} {}", theirs->sends ? "send" : "receive",
                               words_of(theirs->message)));
  }

  Semantics semantics_;
  std::vector<Walker> walkers_;
  std::set<std::tuple<int, int, Message>> arrived_;  // from, to
  std::map<int, size_t> looked_at_;                  // by rank
  std::optional<config::Problem> wrong_;
};

// Returns an operation's collectives, without sends and receives.
std::vector<OperationCall> collectives_of(const RankPlan& plan, const Operation& operation) {
  std::vector<OperationCall> calls = calls_of(plan, operation);
  std::erase_if(calls, [](const OperationCall& call) {
    return call.exchange == Exchange::kSend || call.exchange == Exchange::kReceive;
  });
  return calls;
}

}  // namespace

std::vector<config::Problem> check_transfers(std::span<const CheckedRank> pipeline) {
  std::vector<config::Problem> problems;
  for (const Semantics semantics : {Semantics::kBuffered, Semantics::kRendezvous}) {
    if (auto problem = Meeting(pipeline, semantics).problem()) problems.push_back(*problem);
  }
  return problems;
}

std::vector<config::Problem> check_same_calls(const CheckedRank& first, const CheckedRank& other) {
  const auto problem = [&](size_t line, const std::string& what) {
    return std::vector<config::Problem>{
        {.where = format("rank {}, line {}", other.plan->rank, line), .what = what}};
  };
  const Program& ours = *first.program;
  const Program& theirs = *other.program;
  // The calls that were compared: those of many micro-batches are alike.
  std::set<std::tuple<OpKind, int, int, int64_t>> seen;
  for (size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    if (ours[i] != theirs[i])
      return problem(i, format("{}, where rank {} has: {}", describe(*other.plan, theirs[i]),
                               first.plan->rank, describe(*first.plan, ours[i])));
    const int64_t rows = first.plan->rows[static_cast<size_t>(ours[i].micro_batch)];
    if (!seen.insert({ours[i].kind, ours[i].chunk, ours[i].index, rows}).second) continue;
    const std::vector<OperationCall> our_calls = collectives_of(*first.plan, ours[i]);
    const std::vector<OperationCall> their_calls = collectives_of(*other.plan, theirs[i]);
    for (size_t call = 0; call < std::min(our_calls.size(), their_calls.size()); ++call) {
      const AxisSet axes = our_calls[call].axes;
      const bool meet = first.plan->mesh.group_index(first.plan->rank, axes) ==
                        other.plan->mesh.group_index(other.plan->rank, axes);
      if (meet && our_calls[call].bytes != their_calls[call].bytes)
        return problem(i, format("{} has {} bytes, on rank {} {}", describe(*other.plan, theirs[i]),
                                 their_calls[call].bytes, first.plan->rank, our_calls[call].bytes));
    }
  }
  const AxisSet axes = matrix_axes(first.plan->config.parallel);
  if (first.plan->mesh.group_index(first.plan->rank, axes) ==
          other.plan->mesh.group_index(other.plan->rank, axes) &&
      first.plan->matrices != other.plan->matrices)
    return problem(0, format("other rounds of matrices than on rank {}", first.plan->rank));
  if (ours.size() != theirs.size())
    return problem(
        std::min(ours.size(), theirs.size()),
        format("{} operations, rank {} has {}", theirs.size(), first.plan->rank, ours.size()));
  return {};
}

}  // namespace shoal::plan
