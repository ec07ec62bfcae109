#include "app/engine/bench_comm.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <iostream>
#include <numeric>

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <nlohmann/json.hpp>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "shoal/bench/paired.h"
#include "shoal/comm/world.h"
#include "shoal/core/error.h"
#include "shoal/core/nearest.h"

#include "app/engine/bench_links.h"
#include "app/engine/job.h"

namespace shoal::app {
namespace {

using comm::Reduce;

constexpr double kRoundSeconds = 0.1;
constexpr int64_t kLargestMessage = int64_t{1} << 40;

// One collective, ready to be called in two ways on the same buffers.
struct Contest {
  std::function<void()> ours;
  std::function<void()> bare;
};

class CommBench {
 public:
  CommBench(comm::World& world, at::ScalarType type, int rounds)
      : world_(world),
        type_(type),
        rounds_(rounds),
        group_(world.group("bench", everyone())),
        bare_(world.bare_group("bench bare", everyone())) {}

  struct Row {
    std::string op;
    int64_t bytes;
    bench::Paired paired;
    double copy_seconds;
  };

  Row measure(const std::string& op, int64_t bytes) {
    const int64_t moved = elements_per_rank(bytes) * world_.size() * element_bytes();
    const Contest contest = contest_of(op, bytes);
    const int calls = agree_on_calls(contest);
    return {op, moved,
            bench::measure_paired(
                {.a = contest.ours, .b = contest.bare, .rounds = rounds_, .calls = calls}),
            copy_seconds(moved)};
  }

  static std::vector<std::string_view> op_names() {
    return {"all_reduce", "reduce",         "broadcast",  "all_gather", "gather",
            "scatter",    "reduce_scatter", "all_to_all", "send_recv",  "barrier"};
  }

 private:
  [[nodiscard]] int64_t element_bytes() const {
    return static_cast<int64_t>(c10::elementSize(type_));
  }

  // The largest equal parts whose sum is no more than `bytes`, and at least one element each.
  [[nodiscard]] int64_t elements_per_rank(int64_t bytes) const {
    return std::max<int64_t>(bytes / element_bytes() / world_.size(), 1);
  }

  [[nodiscard]] std::vector<int> everyone() const {
    std::vector<int> ranks(static_cast<size_t>(world_.size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }

  [[nodiscard]] at::Tensor buffer(int64_t elements) const {
    return at::ones({elements}, at::TensorOptions(type_).device(world_.device()));
  }

  // Waits as Pending::wait_host does. On a GPU a bare wait only makes the current stream wait.
  void finish(const c10::intrusive_ptr<c10d::Work>& work) const {
    work->wait();
    if (!world_.device().is_cpu())
      c10::impl::VirtualGuardImpl(world_.device().type()).getStream(world_.device()).synchronize();
  }

  // All ranks must make the same number of calls, or they deadlock: the slowest decides.
  int agree_on_calls(const Contest& contest) {
    contest.ours();
    contest.bare();
    const double slower =
        std::max(bench::time_calls(contest.ours, 3), bench::time_calls(contest.bare, 3));
    const at::Tensor seconds = at::full({1}, slower, at::kDouble);
    world_.control().all_reduce(seconds, Reduce::kMax, "calls per round");
    return std::clamp(static_cast<int>(kRoundSeconds / std::max(seconds.item<double>(), 1e-7)), 1,
                      10'000);
  }

  [[nodiscard]] double copy_seconds(int64_t bytes) const {
    std::vector<char> from(static_cast<size_t>(bytes), 1);
    std::vector<char> into(static_cast<size_t>(bytes));
    const auto copy = [&] { std::memcpy(into.data(), from.data(), from.size()); };
    const int calls = bench::calls_per_round(copy, kRoundSeconds / 4);
    std::array<double, 5> times{};
    for (double& time : times) time = bench::time_calls(copy, calls);
    return bench::quartiles_of({times.begin(), times.end()}).median;
  }

  Contest contest_of(const std::string& op, int64_t bytes);
  Contest rooted_contest_of(const std::string& op, const at::Tensor& whole, const at::Tensor& part);

  comm::World& world_;
  at::ScalarType type_;
  int rounds_;
  comm::Group group_;
  c10::intrusive_ptr<c10d::Backend> bare_;
};

Contest CommBench::contest_of(const std::string& op, int64_t bytes) {
  const int64_t per_rank = elements_per_rank(bytes);
  const at::Tensor whole = buffer(per_rank * world_.size());
  const at::Tensor part = buffer(per_rank);
  if (op == "all_reduce") {
    // A repeated maximum does not grow, so the values stay the same.
    return {[=, this] { group_.all_reduce(whole, Reduce::kMax, "bench").wait_host(); },
            [=, this] {
              std::vector<at::Tensor> tensors = {whole};
              c10d::AllreduceOptions options;
              options.reduceOp = c10d::ReduceOp::MAX;
              finish(bare_->allreduce(tensors, options));
            }};
  }
  if (op == "all_gather") {
    return {[=, this] { group_.all_gather(whole, part, "bench").wait_host(); },
            [=, this] {
              at::Tensor out = whole;
              at::Tensor in = part;
              finish(bare_->all_gather_single(out, in));
            }};
  }
  if (op == "reduce_scatter") {
    return {[=, this] { group_.reduce_scatter(part, whole, Reduce::kSum, "bench").wait_host(); },
            [=, this] {
              at::Tensor out = part;
              at::Tensor in = whole;
              finish(bare_->reduce_scatter_single(out, in));
            }};
  }
  if (op == "all_to_all") {
    const at::Tensor received = buffer(whole.numel());
    return {[=, this] { group_.all_to_all(received, whole, {}, "bench").wait_host(); },
            [=, this] {
              at::Tensor out = received;
              at::Tensor in = whole;
              std::vector<int64_t> none;
              finish(bare_->all_to_all_single(out, in, none, none));
            }};
  }
  if (op == "send_recv") {
    const int right = (group_.rank() + 1) % group_.size();
    const int left = (group_.rank() - 1 + group_.size()) % group_.size();
    const at::Tensor received = buffer(whole.numel());
    using Way = comm::Group::Transfer::Way;
    return {
        [=, this] {
          group_.exchange({{Way::kRecv, received, left, 1}, {Way::kSend, whole, right, 1}}, "bench")
              .wait_host();
        },
        [=, this] {
          std::vector<at::Tensor> in = {received};
          std::vector<at::Tensor> out = {whole};
          // Two transfers on one stream would wait for each other.
          const bool together = bare_->supportsCoalescing();
          if (together) bare_->startCoalescing();
          const auto receiving = bare_->recv(in, left, 1);
          const auto sending = bare_->send(out, right, 1);
          if (together) return finish(bare_->endCoalescing());
          finish(receiving);
          finish(sending);
        }};
  }
  if (op == "barrier") {
    return {[this] { group_.barrier("bench").wait_host(); }, [this] { finish(bare_->barrier()); }};
  }
  return rooted_contest_of(op, whole, part);
}

Contest CommBench::rooted_contest_of(const std::string& op,
                                     const at::Tensor& whole,
                                     const at::Tensor& part) {
  const bool root = group_.rank() == 0;
  const auto parts = [this](const at::Tensor& tensor) { return tensor.chunk(group_.size()); };
  if (op == "broadcast") {
    return {[=, this] { group_.broadcast(whole, 0, "bench").wait_host(); },
            [=, this] {
              std::vector<at::Tensor> tensors = {whole};
              finish(bare_->broadcast(tensors));
            }};
  }
  if (op == "reduce") {
    return {[=, this] { group_.reduce(whole, Reduce::kMax, 0, "bench").wait_host(); },
            [=, this] {
              std::vector<at::Tensor> tensors = {whole};
              c10d::ReduceOptions options;
              options.reduceOp = c10d::ReduceOp::MAX;
              finish(bare_->reduce(tensors, options));
            }};
  }
  if (op == "gather") {
    return {[=, this] { group_.gather(whole, part, 0, "bench").wait_host(); },
            [=, this] {
              std::vector<std::vector<at::Tensor>> out;
              if (root) out.push_back(parts(whole));
              std::vector<at::Tensor> in = {part};
              finish(bare_->gather(out, in));
            }};
  }
  return {[=, this] { group_.scatter(part, whole, 0, "bench").wait_host(); },
          [=, this] {
            std::vector<std::vector<at::Tensor>> in;
            if (root) in.push_back(parts(whole));
            std::vector<at::Tensor> out = {part};
            finish(bare_->scatter(out, in));
          }};
}

at::ScalarType type_named(const std::string& name) {
  if (name == "float32") return at::kFloat;
  if (name == "bfloat16") return at::kBFloat16;
  if (name == "float64") return at::kDouble;
  throw UsageError(format("--type is '{}', but must be float32, bfloat16 or float64", name));
}

std::vector<std::string> chosen_ops(const std::vector<std::string>& wanted) {
  const std::vector<std::string_view> known = CommBench::op_names();
  for (const std::string& op : wanted) {
    if (std::find(known.begin(), known.end(), op) != known.end()) continue;
    const auto meant = nearest(op, known);
    throw UsageError(format(
        "--op is '{}', which is no collective{}", op,
        meant ? format("; did you mean '{}'?", *meant) : format("; there are {}", listed(known))));
  }
  if (wanted.empty()) return {known.begin(), known.end()};
  std::vector<std::string> once;
  for (const std::string& op : wanted) {
    if (std::find(once.begin(), once.end(), op) == once.end()) once.push_back(op);
  }
  return once;
}

std::vector<int64_t> chosen_sizes(const std::vector<std::string>& wanted) {
  if (wanted.empty()) return {4 << 10, 1 << 20, 64 << 20};
  std::vector<int64_t> sizes;
  for (const std::string& text : wanted) {
    const auto bytes = parse_bytes(text);
    if (!bytes || *bytes < 1 || *bytes > kLargestMessage) {
      throw UsageError(
          format("--size is '{}', but must be a size from 1 B to {}, such as \"64 MiB\"", text,
                 format_bytes(kLargestMessage)));
    }
    sizes.push_back(*bytes);
  }
  return sizes;
}

std::string seconds_text(double seconds) {
  if (seconds < 1e-3) return format("{:.1f} us", seconds * 1e6);
  return seconds < 1 ? format("{:.2f} ms", seconds * 1e3) : format("{:.2f} s", seconds);
}

void print_row(const CommBench::Row& row) {
  const double seconds = row.paired.a_seconds.median;
  const bool moves = row.op != "barrier";
  std::cout << format("{:<15} {:>10} {:>11} {:>8} {:>8}  {:<22} {:>10}\n", row.op,
                      moves ? format_bytes(row.bytes) : "", seconds_text(seconds),
                      moves ? format("{:.2f}", static_cast<double>(row.bytes) / seconds / 1e9) : "",
                      moves ? format("{:.1f}", seconds / row.copy_seconds) : "",
                      row.paired.ratio.text(2), seconds_text(row.paired.b_seconds.median))
            << std::flush;
}

void print_names(const std::vector<CommBench::Row>& rows) {
  std::cout << "\n";
  for (const CommBench::Row& row : rows) {
    const std::string name = format("comm.{}.{}", row.op, row.bytes);
    const bench::Quartiles& ratio = row.paired.ratio;
    const bench::Quartiles& added = row.paired.added_seconds;
    std::cout << format("{}.seconds {:.6g}\n", name, row.paired.a_seconds.median)
              << format("{}.of_bare {:.3f}\n{}.of_bare_error {:.3f}\n", name, ratio.median, name,
                        ratio.error)
              << format("{}.added_us {:.2f}\n{}.added_us_error {:.2f}\n", name, added.median * 1e6,
                        name, added.error * 1e6);
  }
}

void print_json(const std::vector<CommBench::Row>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  const auto quartiles = [](const bench::Quartiles& q) {
    return nlohmann::ordered_json{q.low, q.median, q.high};
  };
  for (const CommBench::Row& row : rows) {
    list.push_back({{"op", row.op},
                    {"bytes", row.bytes},
                    {"seconds", quartiles(row.paired.a_seconds)},
                    {"bare_seconds", quartiles(row.paired.b_seconds)},
                    {"of_bare", quartiles(row.paired.ratio)},
                    {"added_seconds", quartiles(row.paired.added_seconds)},
                    {"copy_seconds", row.copy_seconds}});
  }
  std::cout << list.dump(2) << "\n";
}

}  // namespace

std::string comm_op_help() {
  return format("only this collective; repeat for several: {}", listed(CommBench::op_names()));
}

void run_comm_bench(const CommBenchOptions& options) {
  if (options.save) {
    if (!options.ops.empty() || options.json)
      throw UsageError("--save measures what the planner needs: leave out --op and --json");
    return run_link_bench(
        {.save = *options.save,
         .sizes = options.sizes.empty() ? std::vector<int64_t>() : chosen_sizes(options.sizes),
         .sets = options.sets});
  }
  const std::vector<std::string> ops = chosen_ops(options.ops);
  const std::vector<int64_t> sizes = chosen_sizes(options.sizes);
  const at::ScalarType type = type_named(options.type);
  const Job job = start_job(std::nullopt, options.sets);
  if (job.me.world_size == 1) {
    throw UsageError(
        "bench comm measures ranks that talk to each other: shoal launch --ranks 2 -- bench comm");
  }
  head_log(job);
  const auto world = comm::World::join(job.me, job.environment, world_options(job));
  const bool speaks = job.speaks() && !options.json;
  if (speaks) {
    std::cout
        << format(
               "{} ranks, {}, {}, {} rounds; ratios below 1 are faster than the bare c10d call\n\n",
               world->size(), world->backend(), options.type, options.rounds)
        << format("{:<15} {:>10} {:>11} {:>8} {:>8}  {:<22} {:>10}\n", "collective", "size", "time",
                  "GB/s", "x copy", "of bare (quartiles)", "bare");
  }
  std::vector<CommBench::Row> rows;
  {
    CommBench bench(*world, type, options.rounds);
    world->close_doors();
    for (const std::string& op : ops) {
      for (const int64_t size : sizes) {
        rows.push_back(bench.measure(op, size));
        if (speaks) print_row(rows.back());
        if (op == "barrier") break;  // it has no size
      }
    }
  }
  if (speaks) print_names(rows);
  if (job.speaks() && options.json) print_json(rows);
  world->leave();
}

}  // namespace shoal::app
