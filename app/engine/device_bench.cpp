#include "app/engine/device_bench.h"

#include <atomic>
#include <optional>

#include <unistd.h>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "shoal/bench/rounds.h"
#include "shoal/core/console.h"
#include "shoal/core/format.h"
#include "shoal/model/precision.h"

#include "app/cluster_file.h"
#include "app/host_facts.h"
#include "app/progress_line.h"

namespace shoal::app {

DeviceBench::DeviceBench(const DeviceBenchOptions& options)
    : job_(start_job(std::nullopt, options.sets, RankCheck::kAnyWhenAlone)),
      options_(options),
      cluster_(options.save && speaks() ? cluster_to_update(*options.save)
                                        : config::ClusterConfig()) {
  keep_freed_memory();
  set_threads(job_);
  world_ = comm::World::join(job_.me, job_.environment, world_options(job_));
  if (cluster_.device.name == config::DeviceSpec().name) {
    cluster_.device.name = device_name();
    new_device_ = true;
  }
  if (is_cpu()) {
    const double bytes = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                         static_cast<double>(::sysconf(_SC_PAGE_SIZE));
    cluster_.device.memory_gb = rounded(bytes / 1e9 / job_.me.local_size);
  } else {  // as the driver reports it, which is not what it is sold as
    const c10::Device device = world_->device();
    const auto [unused, all] = at::getDeviceAllocator(device.type())->getMemoryInfo(device.index());
    cluster_.device.memory_gb = rounded(static_cast<double>(all) / 1e9);
  }
}

void DeviceBench::set_peak(double& peak, double measured) const {
  if (is_cpu() || new_device_ || peak < measured) peak = rounded(measured);
}

model::Materials DeviceBench::materials(config::Precision precision) const {
  return model::materials_of(precision, world_->device(), 1);
}

std::vector<std::vector<double>> DeviceBench::measure(std::vector<std::function<void()>> bodies,
                                                      double seconds,
                                                      const std::string& what) {
  world_->control().barrier("bench");
  std::atomic<double> share = 0;
  std::optional<ProgressLine> line;
  if (speaks()) line.emplace([&] { return format("{} {}", progress_bar(share), what); });
  return slowest(bench::measure_rounds({.bodies = std::move(bodies),
                                        .seconds = seconds,
                                        .finish = [this] { finish(); },
                                        .progress = [&](double now) { share = now; }}));
}

// The times of the rank whose bodies take longest together.
std::vector<std::vector<double>> DeviceBench::slowest(
    const std::vector<std::vector<double>>& mine) {
  double sum = 0;
  for (const std::vector<double>& body : mine) sum += bench::undisturbed(body);
  const auto agree = [this](const at::Tensor& values) {
    world_->control().all_reduce(values, comm::Reduce::kMax, "the slowest rank");
  };
  // The most seconds, and the fewest rounds.
  const at::Tensor all = at::tensor({sum, -static_cast<double>(mine.front().size())}, at::kDouble);
  agree(all);
  const auto rounds = static_cast<int64_t>(-all[1].item<double>());
  const bool is_mine = all[0].item<double>() == sum;
  at::Tensor times =
      at::zeros({static_cast<int64_t>(mine.size()), rounds}, at::TensorOptions(at::kDouble));
  auto each = times.accessor<double, 2>();
  for (size_t body = 0; body < mine.size() && is_mine; ++body)
    for (int64_t round = 0; round < rounds; ++round)
      each[static_cast<int64_t>(body)][round] = mine[body][static_cast<size_t>(round)];
  agree(times);  // the others have zeros
  std::vector<std::vector<double>> result;
  for (int64_t body = 0; body < times.size(0); ++body) {
    const double* const row = times[body].const_data_ptr<double>();
    result.emplace_back(row, row + rounds);
  }
  return result;
}

void DeviceBench::leave(const std::string& name) {
  if (speaks() && options_.save)
    save_measured(cluster_, *options_.save, name,
                  format("{}, {} ranks with {} threads each", device_name(), job_.me.world_size,
                         at::get_num_threads()));
  world_->leave();
}

std::string DeviceBench::device_name() const {
  return is_cpu() ? cpu_name() : world_->device_name();
}

void DeviceBench::finish() const {
  if (!is_cpu())
    c10::impl::VirtualGuardImpl(world_->device().type()).getStream(world_->device()).synchronize();
}

}  // namespace shoal::app
