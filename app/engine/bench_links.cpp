#include "app/engine/bench_links.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <iostream>

#include <ATen/ATen.h>

#include "shoal/bench/fits.h"
#include "shoal/bench/paired.h"
#include "shoal/comm/world.h"
#include "shoal/core/console.h"
#include "shoal/core/error.h"
#include "shoal/core/quantities.h"
#include "shoal/plan/cost.h"

#include "app/cluster_file.h"
#include "app/engine/job.h"
#include "app/progress_line.h"

namespace shoal::app {
namespace {

using comm::Reduce;

constexpr int kRounds = 9;
constexpr double kCallSeconds = 20e-3;  // of a call in a round
constexpr std::array<const char*, 4> kExchanges = {"all_gather", "reduce_scatter", "all_reduce",
                                                   "send_recv"};

// Ranks that talk over one kind of link. All groups of a job measure at the same time, as they talk
// at the same time in training.
struct LinkGroup {
  std::string name;
  comm::Group group;
  config::LinkSpec* link = nullptr;
};

struct LinkCase {
  std::string exchange;
  std::function<void()> body;
  bench::LinkTime time;  // its seconds are measured
  int calls = 1;
  std::vector<double> seconds = {};
};

LinkCase case_of(const std::string& exchange,
                 comm::Group& group,
                 int64_t size,
                 const at::TensorOptions& type) {
  const double n = group.size();
  const int64_t each = std::max<int64_t>(size / 4 / group.size(), 1);
  const at::Tensor whole = at::ones({each * group.size()}, type);
  const at::Tensor part = at::ones({each}, type);
  const auto bytes = static_cast<double>(whole.nbytes());
  const double steps = plan::steps_among(group.size());
  const double sent = bytes * (n - 1) / n;
  if (exchange == "all_gather")
    return {exchange,
            [=, &group] { group.all_gather(whole, part, "bench").wait_host(); },
            {.steps = steps, .bytes = sent}};
  if (exchange == "reduce_scatter")
    return {exchange,
            [=, &group] { group.reduce_scatter(part, whole, Reduce::kSum, "bench").wait_host(); },
            {.steps = steps, .bytes = sent}};
  if (exchange == "all_reduce")  // a repeated maximum does not grow
    return {exchange,
            [=, &group] { group.all_reduce(whole, Reduce::kMax, "bench").wait_host(); },
            {.steps = 2 * steps, .bytes = 2 * sent}};
  const int right = (group.rank() + 1) % group.size();
  const int left = (group.rank() - 1 + group.size()) % group.size();
  const at::Tensor received = at::ones_like(whole);
  using Way = comm::Group::Transfer::Way;
  return {exchange,
          [=, &group] {
            group
                .exchange({{Way::kRecv, received, left, 1}, {Way::kSend, whole, right, 1}}, "bench")
                .wait_host();
          },
          {.steps = 1, .bytes = bytes}};
}

// Returns what a rank computes between two calls. In training a call waits for the slowest of ranks that
// have just computed, and threads that slept wake up for it. A GPU's stream does not sleep: nothing.
std::function<void()> work_between(const at::TensorOptions& type) {
  if (!type.device().is_cpu()) return [] {};
  constexpr int64_t kWidth = 256;
  const at::Tensor a = at::ones({kWidth, kWidth}, type);
  return [a, product = at::empty_like(a)]() mutable { at::mm_out(product, a, a); };
}

// Returns the seconds of a call behind work, without those of the work.
double seconds_behind(const std::function<void()>& work, const LinkCase& one) {
  const double alone = bench::time_calls(work, one.calls);
  const double both = bench::time_calls(
      [&] {
        work();
        one.body();
      },
      one.calls);
  return std::max(both - alone, 1e-7);
}

// Returns the share of a gather's time that is missing to products beside it: they are timed alone, the
// gather alone, and both together, as training runs them.
double taken_share(comm::World& world, comm::Group& group, int64_t size) {
  constexpr int kTries = 9;
  constexpr int64_t kWidth = 512;
  const auto type = at::TensorOptions(at::kFloat).device(world.device());
  const int64_t each = std::max<int64_t>(size / 4 / group.size(), 1);
  const at::Tensor whole = at::ones({each * group.size()}, type);
  const at::Tensor part = at::ones({each}, type);
  const at::Tensor a = at::ones({kWidth, kWidth}, type);
  at::Tensor product = at::empty_like(a);
  const auto gather = [&] { group.all_gather(whole, part, "bench").wait_host(); };
  const auto seconds_of = [&](const std::function<void()>& body) {
    world.control().barrier("bench");
    return bench::time_calls(body, 1);
  };
  gather();
  // As long as the gather, so that all of it runs beside them.
  const at::Tensor longest = at::full(
      {1}, seconds_of(gather) / seconds_of([&] { at::mm_out(product, a, a); }), at::kDouble);
  world.control().all_reduce(longest, Reduce::kMax, "products");
  const int products = std::clamp(static_cast<int>(2 * longest.item<double>()), 2, 10'000);
  const auto compute = [&] {
    for (int i = 0; i < products; ++i) at::mm_out(product, a, a);
    if (!product.is_cpu()) (void)product.select(0, 0).sum().item<float>();  // waits for a GPU
  };
  std::vector<double> alone, gathering, together;
  for (int i = 0; i < kTries; ++i) {
    alone.push_back(seconds_of(compute));
    gathering.push_back(seconds_of(gather));
    together.push_back(seconds_of([&] {
      comm::Pending pending = group.all_gather(whole, part, "bench");
      compute();
      pending.wait_host();
    }));
  }
  const double added = bench::undisturbed(together) - bench::undisturbed(alone);
  return std::clamp(added / bench::undisturbed(gathering), 0.0, 1.0);
}

// Ranks must make the same number of calls: the slowest decides.
int agreed_calls(comm::World& world, const std::function<void()>& body) {
  body();
  const at::Tensor seconds = at::full({1}, bench::time_calls(body, 2), at::kDouble);
  world.control().all_reduce(seconds, Reduce::kMax, "calls per round");
  return std::clamp(static_cast<int>(kCallSeconds / std::max(seconds.item<double>(), 1e-7)), 1,
                    1000);
}

void print_case(const std::string& where, const LinkCase& measured) {
  const bench::Quartiles seconds = bench::quartiles_of(measured.seconds);
  std::cout << format("{:<8} {:<15} {:>11} {:>10.1f} us  ({:.2f} .. {:.2f})  {:>8.3f} GB/s\n",
                      where, measured.exchange,
                      format_bytes(static_cast<int64_t>(measured.time.bytes)), seconds.median * 1e6,
                      seconds.low / seconds.median, seconds.high / seconds.median,
                      measured.time.bytes / seconds.median / 1e9)
            << std::flush;
}

void measure(comm::World& world, LinkGroup& link, const std::vector<int64_t>& sizes, bool speaks) {
  const auto type = at::TensorOptions(at::kFloat).device(world.device());
  std::vector<LinkCase> cases;
  for (const char* const exchange : kExchanges) {
    for (const int64_t size : sizes) cases.push_back(case_of(exchange, link.group, size, type));
  }
  const std::function<void()> work = work_between(type);
  std::atomic<int> done = 0;
  {
    std::optional<ProgressLine> line;
    if (speaks)
      line.emplace([&] {
        return format("{} links: {}", progress_bar(static_cast<double>(done) / (kRounds + 1)),
                      link.name);
      });
    for (LinkCase& one : cases) one.calls = agreed_calls(world, one.body);
    for (done = 1; done <= kRounds; ++done) {
      for (LinkCase& one : cases) one.seconds.push_back(seconds_behind(work, one));
    }
  }
  const double taken = taken_share(world, link.group, sizes.back());
  if (!speaks) return;
  std::vector<bench::LinkTime> times;
  for (LinkCase& one : cases) {
    print_case(link.name, one);
    one.time.seconds = bench::undisturbed(one.seconds);
    times.push_back(one.time);
  }
  const bench::LinkFit fit = bench::fit_link(times);
  link.link->latency_us = rounded(fit.latency * 1e6);
  link.link->gb_per_s = rounded(fit.bandwidth / 1e9);
  link.link->device_share = rounded(taken);
  std::vector<bench::RatePoint> rates;
  for (const bench::LinkTime& one : times)
    rates.push_back({1e-6 * one.bytes / one.steps, 1e-9 * one.bytes / one.seconds});
  link.link->rates = curve_of(rates);
  std::cout << format(
      "{0} links: mean error of the fit {1:.1f} %\n"
      "comm.{0}.latency_us {2:.4g}\ncomm.{0}.gb_per_s {3:.4g}\ncomm.{0}.device_share {4:.3f}\n\n",
      link.name, 100 * fit.error, fit.latency * 1e6, fit.bandwidth / 1e9, taken);
}

// Returns the ranks of this rank's node, or those with its place on every node.
std::vector<int> ranks_of(const cluster::Membership& me, bool node) {
  std::vector<int> ranks;
  if (node) {
    for (int place = 0; place < me.local_size; ++place)
      ranks.push_back(me.rank - me.local_rank + place);
  } else {
    for (int other = 0; other < me.num_nodes; ++other)
      ranks.push_back(other * me.local_size + me.local_rank);
  }
  return ranks;
}

}  // namespace

void run_link_bench(const LinkBenchOptions& options) {
  const Job job = start_job(std::nullopt, options.sets);
  if (job.me.world_size == 1)
    throw UsageError(
        "bench comm measures ranks that talk to each other: shoal launch --ranks 2 -- bench comm");
  if (job.me.world_size != job.me.num_nodes * job.me.local_size)
    throw UsageError(format("{} ranks on {} nodes, {} on this one: start as many on each node",
                            job.me.world_size, job.me.num_nodes, job.me.local_size));
  config::ClusterConfig cluster =
      job.speaks() ? cluster_to_update(options.save) : config::ClusterConfig();
  std::vector<int64_t> sizes = options.sizes;
  if (sizes.empty())
    for (int64_t size = 4 << 10; size <= 32 << 20; size *= 8) sizes.push_back(size);
  set_threads(job);
  const auto world = comm::World::join(job.me, job.environment, world_options(job));
  {
    std::vector<LinkGroup> links;
    if (job.me.local_size > 1)
      links.push_back({"node", world->group("node", ranks_of(job.me, true)), &cluster.node});
    if (job.me.num_nodes > 1)
      links.push_back(
          {"network", world->group("network", ranks_of(job.me, false)), &cluster.network});
    world->close_doors();
    for (LinkGroup& link : links) measure(*world, link, sizes, job.speaks());
  }
  cluster.devices_per_node = job.me.local_size;
  if (job.speaks())
    save_measured(
        cluster, options.save, "shoal bench comm",
        format("{} ranks on {} hosts, {}", job.me.world_size, job.me.num_nodes, world->backend()));
  world->leave();
}

}  // namespace shoal::app
