#include "shoal/config/cluster_config.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "shoal/config/load.h"
#include "shoal/config/print.h"
#include "shoal/config/text.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/shipped_file.h"

namespace shoal::config {
namespace {

constexpr size_t kMaxPoints = 64;

void check_curve(const Curve& curve, const std::string& key, std::vector<Problem>& problems) {
  const auto refuse = [&](std::string what, std::string hint) {
    problems.push_back({.where = key, .what = std::move(what), .hint = std::move(hint)});
  };
  if (curve.sizes.size() != curve.rates.size())
    return refuse(format("{} sizes and {} rates", curve.sizes.size(), curve.rates.size()),
                  "write one rate for each size");
  if (curve.sizes.size() > kMaxPoints)
    return refuse(format("{} points", curve.sizes.size()),
                  format("a curve has at most {}", kMaxPoints));
  for (size_t i = 1; i < curve.sizes.size(); ++i) {
    if (curve.sizes[i] <= curve.sizes[i - 1])
      return refuse(format("size {} is not above the one before", write_value(curve.sizes[i])),
                    "write sizes in ascending order");
  }
}

void check_curves(const MeasuredSpec& measured,
                  const std::string& key,
                  std::vector<Problem>& problems) {
  check_curve(measured.attention, key + ".attention", problems);
  check_curve(measured.functions, key + ".functions", problems);
  check_curve(measured.gated_functions, key + ".gated_functions", problems);
  check_curve(measured.head_functions, key + ".head_functions", problems);
}

// Returns the lines of comments at the head of a file, without those of `name`.
std::string kept_head(std::string_view text, std::string_view name) {
  const std::string own = format("# {}:", name);
  std::string head;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line) && line.starts_with('#');) {
    if (!line.starts_with(own)) head += line + "\n";
  }
  return head;
}

}  // namespace

double Curve::at(double size) const {
  SHOAL_CHECK(!empty(), "a curve without points has no rate at {}", size);
  const auto above = std::lower_bound(sizes.begin(), sizes.end(), size);
  if (above == sizes.begin()) return rates.front();
  if (above == sizes.end()) return rates.back();
  const auto i = static_cast<size_t>(above - sizes.begin());
  const double part = std::log(size / sizes[i - 1]) / std::log(sizes[i] / sizes[i - 1]);
  return rates[i - 1] * std::pow(rates[i] / rates[i - 1], part);
}

const Curve& MeasuredSpec::functions_of(UnitKind unit, Activation activation) const {
  if (unit == UnitKind::kHead && !head_functions.empty()) return head_functions;
  const bool gated = unit == UnitKind::kBlock && activation == Activation::kSwiglu;
  return gated && !gated_functions.empty() ? gated_functions : functions;
}

const MeasuredSpec& DeviceSpec::measured(Precision precision) const {
  static const MeasuredSpec nothing;
  switch (precision) {
    case Precision::kFp32:
      return fp32;
    case Precision::kBf16:
    case Precision::kFp16:
      return bf16;
    case Precision::kTf32:
    case Precision::kFp64:
      break;
  }
  return nothing;
}

double LinkSpec::step_seconds(double bytes, double times) const {
  const double least = latency_us * 1e-6;
  if (rates.empty()) return least + bytes / (gb_per_s * 1e9 * times);
  return std::max(least, bytes / (rates.at(std::max(bytes, 1.0) * 1e-6) * 1e9 * times));
}

LinkSpec LinkSpec::faster(double times) const {
  LinkSpec link = *this;
  link.gb_per_s *= times;
  for (double& rate : link.rates.rates) rate *= times;
  return link;
}

LinkSpec LinkSpec::at_its_best() const {
  LinkSpec link = *this;
  if (rates.empty()) return link;
  const double best = *std::max_element(rates.rates.begin(), rates.rates.end());
  std::fill(link.rates.rates.begin(), link.rates.rates.end(), best);
  return link;
}

double DeviceSpec::peak(Precision precision) const {
  switch (precision) {
    case Precision::kBf16:
    case Precision::kFp16:
      return bf16_tflops * 1e12;
    case Precision::kFp64:
      return fp64_tflops * 1e12;
    case Precision::kTf32:
      return bf16_tflops / 2 * 1e12;  // of every device that has it
    case Precision::kFp32:
      break;
  }
  return fp32_tflops * 1e12;
}

ClusterConfig load_cluster(const std::filesystem::path& file) {
  ClusterConfig cluster;
  Findings found;
  try {
    read_yaml(table_of(cluster), read_file(own_or_shipped(file), kMaxConfigBytes), file.string(),
              found);
  } catch (const DataError& error) {
    throw UsageError(format("{}: name a YAML file such as those of clusters/", error.what()));
  }
  check_curves(cluster.device.fp32, "device.fp32", found.problems);
  check_curves(cluster.device.bf16, "device.bf16", found.problems);
  check_curve(cluster.node.rates, "node.rates", found.problems);
  check_curve(cluster.network.rates, "network.rates", found.problems);
  if (!found.problems.empty())
    throw UsageError(report(file.string() + " cannot be used", found.problems));
  return cluster;
}

void save_cluster(const ClusterConfig& cluster,
                  const std::filesystem::path& file,
                  std::string_view name,
                  std::string_view note) {
  std::error_code none;
  std::string text;
  if (std::filesystem::exists(file, none)) text = kept_head(read_file(file, kMaxConfigBytes), name);
  std::string line = format("# {}: {}", name, note);
  std::replace_if(line.begin(), line.end(), is_control, ' ');  // a comment ends with its line
  write_file_atomically(file, text + line + "\n" + to_yaml(table_of(cluster)));
}

void list_fields(Curve& config, FieldList& list) {
  list.add("sizes", config.sizes, "sizes that were measured, ascending", between(1e-12, 1e12));
  list.add("rates", config.rates, "rate at each size", between(1e-9, 1e12));
}

void list_fields(MeasuredSpec& config, FieldList& list) {
  constexpr double kLarge = 1e9;
  list.add("products_share", config.products_share, "in place of the device's", between(1e-3, 1.0));
  list.add("products_half_gflop", config.products_half_gflop, "in place of the device's",
           between(0.0, kLarge));
  list.add("products_gb_per_s", config.products_gb_per_s,
           "bandwidth of a product's matrices when moving them takes time of its own, as on CPUs; "
           "auto: they move while the product computes",
           between(1e-3, kLarge));
  list.add("attention", config.attention,
           "10^12 operations per second of attention, by the 10^9 operations of one head of one "
           "sequence, forward and backward");
  list.add("functions", config.functions,
           "10^9 bytes per second of a unit's functions beside products and attention, by the 10^6 "
           "bytes that its forward pass leaves");
  list.add("gated_functions", config.gated_functions,
           "in place of functions, in blocks with SwiGLU");
  list.add("head_functions", config.head_functions, "in place of functions, in the head");
}

void list_fields(DeviceSpec& config, FieldList& list) {
  constexpr double kLarge = 1e9;
  list.add("name", config.name, "what the device is called", not_empty());
  list.add("memory_gb", config.memory_gb, "memory, in 10^9 bytes", between(1e-3, kLarge));
  list.add("bf16_tflops", config.bf16_tflops,
           "dense peak of bf16 and fp16, in 10^12 operations per second", between(1e-6, kLarge));
  list.add("fp32_tflops", config.fp32_tflops, "dense peak of fp32", between(1e-6, kLarge));
  list.add("fp64_tflops", config.fp64_tflops, "dense peak of fp64", between(1e-6, kLarge));
  list.add("memory_gb_per_s", config.memory_gb_per_s, "bandwidth of the memory",
           between(1e-3, kLarge));
  list.add("products_share", config.products_share,
           "share of the peak that a large product reaches", between(1e-3, 1.0));
  list.add("products_half_gflop", config.products_half_gflop,
           "10^9 operations of a product that reaches half of that share", between(0.0, kLarge));
  list.add("attention_share", config.attention_share, "share of the peak that attention reaches",
           between(1e-3, 1.0));
  list.add("memory_share", config.memory_share,
           "share of the bandwidth that functions beside products reach", between(1e-3, 1.0));
  list.add("launch_us", config.launch_us, "microseconds in which a host launches a function",
           between(0.0, kLarge));
  list.add(
      "queued", config.queued,
      "launched functions wait in a queue, so that the host runs ahead of its device; false on "
      "CPUs");
  list.add("flash_attention", config.flash_attention,
           "attention leaves out what is masked, and writes no matrix of weights");
  list.add("fp32", config.fp32, "what was measured in fp32");
  list.add("bf16", config.bf16, "what was measured in bf16 and fp16");
}

void list_fields(LinkSpec& config, FieldList& list) {
  list.add("gb_per_s", config.gb_per_s,
           "10^9 bytes per second that a device sends in large collectives", between(1e-6, 1e9));
  list.add("latency_us", config.latency_us, "microseconds of a step of a collective",
           between(0.0, 1e9));
  list.add("device_share", config.device_share,
           "share of the device that communication takes from what is computed beside it",
           between(0.0, 1.0));
  list.add("rates", config.rates,
           "10^9 bytes per second of a step, by the 10^6 bytes that a device sends in it, as "
           "measured: in place of gb_per_s, and latency_us is then the least time of a step");
}

void list_fields(OperationSpec& config, FieldList& list) {
  list.add("price_per_device_hour", config.price_per_device_hour,
           "in any currency; 0: no cost is told", between(0.0, 1e9));
  list.add("device_mtbf_hours", config.device_mtbf_hours,
           "hours of one device between faults that end a job; 0: no faults are counted",
           between(0.0, 1e12));
  list.add("restart_seconds", config.restart_seconds,
           "from a fault to the next step, with the time to notice it", between(0.0, 1e9));
  list.add("storage_gb_per_s", config.storage_gb_per_s,
           "10^9 bytes of checkpoints per second that all nodes together write",
           between(1e-6, 1e9));
}

void list_fields(ClusterConfig& config, FieldList& list) {
  list.add("device", config.device, "one device");
  list.add("devices_per_node", config.devices_per_node, "devices of a node", between(1, 1 << 16));
  list.add("node", config.node, "links between devices of a node");
  list.add("network", config.network, "links between nodes");
  list.add("operation", config.operation, "prices, faults, storage");
}

}  // namespace shoal::config
