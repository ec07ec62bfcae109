// rank_clock.h -- the time of one rank during a step: what its device computes, what its host has
// launched, and what communication runs beside.
//
//   RankClock clock(cluster);
//   const double end = clock.start(stream, calls, Spent::kWeights);  // a gather, on the stream of its group
//   clock.compute(costs.compute(operation));           // the device works meanwhile, a little slower
//   clock.wait_until(end, Spent::kWeights);
//
// A device computes in order. Communication beside it takes a share of the device from it, and of
// two calls that want one link at the same time the later one gets half of the link.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/config/cluster_config.h"
#include "shoal/plan/cost.h"

namespace shoal::plan {

// What a rank spends its time on.
enum class Spent : uint8_t {
  kProducts,
  kAttention,
  kMemory,     // functions that move bytes: norms, activations, the optimizer
  kLaunches,   // the device waits for its host
  kSlowed,     // what communication takes from the computation beside it
  kTensor,     // calls of the tensor-parallel group
  kWeights,    // waiting for gathered weights
  kGradients,  // waiting for reduced gradients
  kPipeline,   // waiting for other stages
  kOther,      // loss, norm and tied gradient
};

constexpr int kNumSpent = 10;

std::string_view spent_name(Spent spent);  // "products", "waiting for the pipeline", ...

struct RankTime {
  double seconds = 0;
  std::array<double, kNumSpent> spent{};  // their sum is `seconds`
  int64_t launches = 0;                   // of functions and calls

  [[nodiscard]] double by(Spent what) const { return spent[static_cast<size_t>(what)]; }
};

// Returns the parts of a rank's time, largest first: "62 % products, 21 % calls of the tensor group".
// Parts below a hundredth are left out.
std::string shares_in_words(const RankTime& time);

// Calls of one stream run one after the other.
struct StreamId {
  AxisSet axes;
  bool upwards = false;  // of transfers: to the stage before

  bool operator==(const StreamId&) const = default;
};

// Is told what passes from `begin` to `end`, on the device or beside it.
using ClockObserver = std::function<void(Spent what, bool beside, double begin, double end)>;

class RankClock {
 public:
  explicit RankClock(const config::ClusterConfig& cluster, ClockObserver observe = {});

  [[nodiscard]] double now() const { return now_; }

  // Forgets what was spent so far: a new step begins.
  void begin_step();
  // Returns the time since begin_step().
  [[nodiscard]] const RankTime& step() const { return step_; }

  void compute(const ComputeSeconds& seconds);
  // A call that the computation waits for.
  void call(const std::vector<CallSeconds>& calls, Spent what);
  // Starts calls beside the computation; returns when they end.
  double start(StreamId stream, const std::vector<CallSeconds>& calls, Spent what);
  void wait_until(double when, Spent what);
  // Begins to receive a message, which takes its share of the device when it comes.
  void receive(const CallSeconds& call);

 private:
  struct Stream {
    StreamId id;
    Link link = Link::kNode;
    double free_from = 0;
  };

  void spend(Spent what, double seconds);
  void launch(int functions);
  [[nodiscard]] double busy_until(Link link, const Stream* except) const;
  [[nodiscard]] double beside_others(const CallSeconds& call,
                                     double begin,
                                     const Stream* except) const;
  [[nodiscard]] const config::LinkSpec& link_of(Link link) const;
  void slow_down(double seconds);

  config::ClusterConfig cluster_;
  ClockObserver observe_;
  double now_ = 0;   // of the device
  double host_ = 0;  // has launched until then
  RankTime step_;
  std::vector<Stream> streams_;
};

}  // namespace shoal::plan
