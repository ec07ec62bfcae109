// rounds.h -- how a job goes on when its ranks change: those that are left agree through its store on
// who takes part next, and processes that were started again wait there until they are called.
//
//   Rounds rounds(store, {.seat = 3, .seats = 4, .deadline = 10min});
//   const Round round = rounds.first(4);                             // seats 0, 1, 2, 3
//   ...                                                              // seat 1 is killed
//   const std::optional<Round> next = rounds.next(round, 41, decide);    // seats 0, 2, 3, say
//
// A seat is a place that a launcher has started a process for; it keeps its number as long as the
// job lives. A round is the time between two changes: its world consists of some of the seats, and
// its ranks are their places in the list. Seat 0 holds the store and decides, so there is nothing to
// vote on; without it the job has to be started again. The others learn of a process that ends by its
// last will, which the store executes when the connection breaks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/cluster/store_client.h"
#include "shoal/core/quantities.h"

namespace shoal::cluster {

// Before a round begins, a seat sends its state to another, which had the same place in the round
// before but has not finished the same steps. The source may be left out of the round.
struct StateTransfer {
  int from = 0;
  int to = 0;
};

struct Round {
  int number = 0;
  std::vector<int> seats;                     // by rank
  int64_t step = 0;                           // finished steps of the state that it goes on from
  std::vector<StateTransfer> transfers = {};  // before it begins; a seat is in one of them at most

  [[nodiscard]] bool has(int seat) const;
};

// What a seat says when it leaves a round.
struct RoundReport {
  int seat = 0;
  std::optional<int64_t> step;  // finished steps; nothing when an update was torn
};

// What seat 0 knows when a round is over.
struct RoundEnd {
  std::vector<RoundReport> reports;  // of the seats that are left, ascending
  std::vector<int> waiting;          // seats outside the round that can be called in, ascending
};

struct RoundDecision {
  std::vector<int> seats = {};  // of the next round; empty: the job cannot go on
  int64_t step = 0;             // finished steps of the state that it goes on from
  std::vector<StateTransfer> transfers = {};
  std::string why = "";  // it cannot
};

using DecideRound = std::function<RoundDecision(const Round& over, const RoundEnd& end)>;

struct RoundsOptions {
  int seat = 0;
  int seats = 1;    // of the job
  int arrival = 1;  // how many processes this seat has had, this one included
  Duration deadline = std::chrono::minutes(10);  // for those who have not noticed yet
};

class Rounds {
 public:
  // Leaves this process's will.
  Rounds(std::shared_ptr<StoreClient> store, const RoundsOptions& options);

  // Returns the round of the first so many seats, with which a job begins; the others are spare, and
  // wait in called().
  Round first(int seats);
  // Returns the round that this process, which was started again, is called into; nothing when the
  // job is over. Throws PeerLost when the store is gone.
  std::optional<Round> called();
  // The same for a process that `round` has left out.
  std::optional<Round> called_after(const Round& round);
  // Ends a round, and returns the next, which may leave this seat out. `decide` is called on seat 0.
  // Nothing when the job is over. Throws PeerLost when the job cannot go on.
  std::optional<Round> next(const Round& over,
                            std::optional<int64_t> step,
                            const DecideRound& decide);

  // On seat 0: returns the seats outside the round that wait to be called: several messages for each.
  std::vector<int> waiting(const Round& round);
  // On seat 0: returns whether somebody has begun to wait since this was asked in the same round. One
  // message, whatever the number of seats.
  bool somebody_came(const Round& round);
  // On seat 0, on any thread: does not wait for this seat at the end of the round, although its process
  // may live.
  void give_up(const Round& round, int seat);
  // On seat 0: tells those who wait that the job is over.
  void end(const Round& round);

 private:
  std::optional<Round> wait_from(int number);
  // Returns the round that was announced after round `over`; nothing when the job is over.
  [[nodiscard]] std::optional<Round> round_in(const std::string& announced, int over) const;
  RoundEnd collect(const Round& over);
  [[nodiscard]] std::string arrival_of(int seat) const;
  // Returns the seats outside the round that wait, and which of their processes.
  std::map<int, std::string> waiting_outside(const Round& round);

  std::shared_ptr<StoreClient> store_;
  RoundsOptions options_;
  std::map<int, std::string> arrivals_;     // on seat 0: of the processes that were called in
  std::pair<int, int64_t> seen_ = {-1, 0};  // by somebody_came(): the round, and how many had come
};

// Whether the job of this store goes through rounds, so that a rank that was started again may wait
// to be called.
bool has_rounds(StoreClient& store);

}  // namespace shoal::cluster
