#include "shoal/cluster/rounds.h"

#include <algorithm>
#include <numeric>

#include "shoal/core/activity.h"
#include "shoal/core/console.h"
#include "shoal/core/error.h"
#include "shoal/core/number_in.h"

namespace shoal::cluster {
namespace {

constexpr const char* kCurrent = "rounds/current";
constexpr std::string_view kOver = "over";
constexpr std::string_view kCannot = "cannot: ";
constexpr Duration kForEver = std::chrono::hours(24);  // then it is asked again
// Between two looks at those whose report is missing.
constexpr Duration kGlance = std::chrono::milliseconds(50);

// How often somebody has begun to wait.
constexpr const char* kArrived = "rounds/arrived";

std::string gone_key(int seat, const std::string& arrival) {
  return format("rounds/gone/{}/{}", seat, arrival);
}
std::string waiting_key(int seat) { return format("rounds/waiting/{}", seat); }
std::string report_key(int round, int seat) { return format("rounds/{}/report/{}", round, seat); }
std::string given_up_key(int round, int seat) {
  return format("rounds/{}/given_up/{}", round, seat);
}
std::string next_key(int round) { return format("rounds/{}/next", round); }

// Other processes wrote these: a text that is no number is none.
std::optional<int64_t> number_told(std::string_view text) {
  const auto number = number_in<int64_t>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

// The step, then the seats, then who gives to whom: "41 0 3 2>0".
std::string text_of(const RoundDecision& decision) {
  std::string text = std::to_string(decision.step);
  for (const int seat : decision.seats) text += format(" {}", seat);
  for (const StateTransfer& transfer : decision.transfers)
    text += format(" {}>{}", transfer.from, transfer.to);
  return text;
}

// Returns the seat that a text names; nothing when it names none.
std::optional<int> seat_in(std::string_view text, int seats) {
  const std::optional<int64_t> number = number_told(text);
  if (!number || *number >= seats) return std::nullopt;
  return static_cast<int>(*number);
}

// Adds what one word of the text says. Returns false when that is nothing.
bool add_word(std::string_view word, int seats, Round& round) {
  const size_t arrow = word.find('>');
  if (arrow == std::string_view::npos) {
    const std::optional<int> seat = seat_in(word, seats);
    if (seat) round.seats.push_back(*seat);
    return seat && round.transfers.empty();
  }
  const std::optional<int> from = seat_in(word.substr(0, arrow), seats);
  const std::optional<int> to = seat_in(word.substr(arrow + 1), seats);
  if (from && to) round.transfers.push_back({*from, *to});
  return from && to;
}

// Returns what the text of a decision says; nothing when it is no such text.
std::optional<Round> parsed(std::string_view text, int number, int seats) {
  Round round{.number = number, .seats = {}};
  const size_t first = std::min(text.find(' '), text.size());
  const std::optional<int64_t> step = number_told(text.substr(0, first));
  if (!step) return std::nullopt;
  round.step = *step;
  for (size_t at = first + 1; at <= text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (!add_word(text.substr(at, end - at), seats, round)) return std::nullopt;
    at = end + 1;
  }
  return round;
}

}  // namespace

bool Round::has(int seat) const {
  return std::find(seats.begin(), seats.end(), seat) != seats.end();
}

bool has_rounds(StoreClient& store) { return store.check({kCurrent}); }

Rounds::Rounds(std::shared_ptr<StoreClient> store, const RoundsOptions& options)
    : store_(std::move(store)), options_(options) {
  store_->leave_will(gone_key(options_.seat, std::to_string(options_.arrival)), "");
}

Round Rounds::first(int seats) {
  if (options_.seat == 0) store_->set(kCurrent, "0");
  Round round{.number = 0, .seats = std::vector<int>(static_cast<size_t>(seats))};
  std::iota(round.seats.begin(), round.seats.end(), 0);
  return round;
}

std::optional<Round> Rounds::called() {
  const std::optional<int64_t> current = number_told(store_->get(kCurrent, options_.deadline));
  if (!current) throw PeerLost("the store does not say which round of the job this is");
  return wait_from(static_cast<int>(*current));
}

std::optional<Round> Rounds::called_after(const Round& round) { return wait_from(round.number); }

std::optional<Round> Rounds::wait_from(int number) {
  const Activity doing("waiting to be called into the job", Pace::kOthers);
  store_->set(waiting_key(options_.seat), std::to_string(options_.arrival));
  store_->add(kArrived, 1);
  for (;; ++number) {
    std::string text;
    for (;;) {
      try {
        text = store_->get(next_key(number), kForEver);
        break;
      } catch (const StoreTimeout&) {
      }
    }
    std::optional<Round> round = round_in(text, number);
    if (!round || round->has(options_.seat)) return round;
  }
}

std::optional<Round> Rounds::round_in(const std::string& announced, int over) const {
  if (announced == kOver) return std::nullopt;
  if (announced.starts_with(kCannot)) throw PeerLost(printable(announced.substr(kCannot.size())));
  std::optional<Round> round = parsed(announced, over + 1, options_.seats);
  if (!round)
    throw PeerLost(
        format("the store says who takes part next in a way that is not understood: '{}'",
               printable(announced.substr(0, 100))));
  return round;
}

std::string Rounds::arrival_of(int seat) const {
  const auto found = arrivals_.find(seat);
  return found == arrivals_.end() ? "1" : found->second;
}

std::map<int, std::string> Rounds::waiting_outside(const Round& round) {
  std::vector<bool> inside(static_cast<size_t>(options_.seats));
  for (const int seat : round.seats) inside[static_cast<size_t>(seat)] = true;
  std::map<int, std::string> found;
  for (int seat = 0; seat < options_.seats; ++seat) {
    if (inside[static_cast<size_t>(seat)] || !store_->check({waiting_key(seat)})) continue;
    const std::string arrival = store_->get(waiting_key(seat), options_.deadline);
    if (!store_->check({gone_key(seat, arrival)})) found[seat] = arrival;
  }
  return found;
}

bool Rounds::somebody_came(const Round& round) {
  const std::pair<int, int64_t> now = {round.number, store_->add(kArrived, 0)};
  return std::exchange(seen_, now) != now;
}

std::vector<int> Rounds::waiting(const Round& round) {
  const std::map<int, std::string> found = waiting_outside(round);
  std::vector<int> seats;
  seats.reserve(found.size());
  for (const auto& [seat, arrival] : found) seats.push_back(seat);
  return seats;
}

// Whoever computes has not noticed yet, and reports when it next communicates. A process that has
// ended does not.
RoundEnd Rounds::collect(const Round& over) {
  const Clock::time_point until = Clock::now() + options_.deadline;
  std::vector<int> left = over.seats;
  std::sort(left.begin(), left.end());
  std::vector<std::string> reports;
  while (reports.size() != left.size()) {
    std::vector<std::string> keys;
    keys.reserve(left.size());
    for (const int seat : left) keys.push_back(report_key(over.number, seat));
    try {
      reports = store_->get(keys, kGlance);
    } catch (const StoreTimeout& timeout) {
      const bool is_late = Clock::now() >= until;
      std::erase_if(left, [&](int seat) {
        const auto& silent = timeout.missing();
        const std::string key = report_key(over.number, seat);
        return std::find(silent.begin(), silent.end(), key) != silent.end() &&
               (is_late || store_->check({gone_key(seat, arrival_of(seat))}) ||
                store_->check({given_up_key(over.number, seat)}));
      });
    }
  }
  RoundEnd end;
  end.reports.reserve(left.size());
  for (size_t i = 0; i < left.size(); ++i)
    end.reports.push_back({left[i], number_told(reports[i])});
  for (const auto& [seat, arrival] : waiting_outside(over)) {
    end.waiting.push_back(seat);
    arrivals_[seat] = arrival;
  }
  return end;
}

std::optional<Round> Rounds::next(const Round& over,
                                  std::optional<int64_t> step,
                                  const DecideRound& decide) {
  const Activity doing("agreeing with those who are left on how to go on", Pace::kOthers);
  store_->set(report_key(over.number, options_.seat), step ? std::to_string(*step) : "torn");
  if (options_.seat != 0) {
    // Seat 0 waits for others first.
    return round_in(store_->get(next_key(over.number), 2 * options_.deadline), over.number);
  }
  const RoundEnd end = collect(over);
  const RoundDecision decision = decide(over, end);
  if (decision.seats.empty()) {
    store_->set(next_key(over.number), std::string(kCannot) + decision.why);
    throw PeerLost(decision.why);
  }
  for (const int seat : end.waiting) {
    const bool is_called =
        std::find(decision.seats.begin(), decision.seats.end(), seat) != decision.seats.end();
    if (is_called) store_->remove(waiting_key(seat));
  }
  store_->set({kCurrent, next_key(over.number)},
              {std::to_string(over.number + 1), text_of(decision)});
  return Round{.number = over.number + 1,
               .seats = decision.seats,
               .step = decision.step,
               .transfers = decision.transfers};
}

void Rounds::give_up(const Round& round, int seat) {
  store_->set(given_up_key(round.number, seat), "");
}

// The round stays the current one: whoever asks later finds that nothing comes after it.
void Rounds::end(const Round& round) { store_->set(next_key(round.number), std::string(kOver)); }

}  // namespace shoal::cluster
