// cluster_config.h -- the machine that a job is planned for: a device, a node of them, and the network between nodes.
//
//   const ClusterConfig cluster = load_cluster("clusters/h100.yaml");
//   cluster.device.peak(Precision::kBf16)          // floating-point operations per second
//   save_cluster(cluster, "clusters/own.yaml", "bench comm", "8 ranks on 2 hosts");
//
// A data sheet gives peaks; what a device reaches of them is a share, or what `shoal bench` has
// measured, which goes before the shares.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/config/model_config.h"
#include "shoal/config/rule.h"
#include "shoal/config/train_config.h"

namespace shoal::config {

// A rate by the size of the work, measured at some sizes.
struct Curve {
  std::vector<double> sizes;
  std::vector<double> rates;

  [[nodiscard]] bool empty() const { return sizes.empty(); }
  // Returns the rate at a size, between points by a power law; the first and last rate beyond them.
  // The curve is not empty.
  [[nodiscard]] double at(double size) const;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("sizes", self.sizes, "sizes that were measured, ascending", between(1e-12, 1e12));
    visit("rates", self.rates, "rate at each size", between(1e-9, 1e12));
  }
};

// What was measured of a device in one precision. What is absent follows from the shares.
struct MeasuredSpec {
  std::optional<double> products_share;
  std::optional<double> products_half_gflop;
  std::optional<double> products_gb_per_s;
  Curve attention;
  Curve functions;
  Curve gated_functions;
  Curve head_functions;

  // Returns the rates of a unit's functions beside products and attention: a curve without points when
  // none was measured.
  [[nodiscard]] const Curve& functions_of(UnitKind unit, Activation activation) const;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    constexpr double kLarge = 1e9;
    visit("products_share", self.products_share, "in place of the device's", between(1e-3, 1.0));
    visit("products_half_gflop", self.products_half_gflop, "in place of the device's",
          between(0.0, kLarge));
    visit("products_gb_per_s", self.products_gb_per_s,
          "bandwidth of a product's matrices when moving them takes time of its own, as on CPUs; "
          "auto: they move while the product computes",
          between(1e-3, kLarge));
    visit("attention", self.attention,
          "10^12 operations per second of attention, by the 10^9 operations of one head of one "
          "sequence, forward and backward");
    visit("functions", self.functions,
          "10^9 bytes per second of a unit's functions beside products and attention, by the 10^6 "
          "bytes that its forward pass leaves");
    visit("gated_functions", self.gated_functions, "in place of functions, in blocks with SwiGLU");
    visit("head_functions", self.head_functions, "in place of functions, in the head");
  }
};

struct DeviceSpec {
  std::string name = "unnamed";
  double memory_gb = 80;
  double bf16_tflops = 312;
  double fp32_tflops = 19.5;
  double fp64_tflops = 9.7;
  double memory_gb_per_s = 2039;
  double products_share = 0.8;
  double products_half_gflop = 1;
  double attention_share = 0.5;
  double memory_share = 0.8;
  double launch_us = 5;
  bool queued = true;
  bool flash_attention = true;
  MeasuredSpec fp32;
  MeasuredSpec bf16;

  // Returns what was measured in a precision; nothing was in fp64 and tf32.
  [[nodiscard]] const MeasuredSpec& measured(Precision precision) const;

  // Returns the dense peak, in operations per second.
  [[nodiscard]] double peak(Precision precision) const;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    constexpr double kLarge = 1e9;
    visit("name", self.name, "what the device is called", not_empty());
    visit("memory_gb", self.memory_gb, "memory, in 10^9 bytes", between(1e-3, kLarge));
    visit("bf16_tflops", self.bf16_tflops,
          "dense peak of bf16 and fp16, in 10^12 operations per second", between(1e-6, kLarge));
    visit("fp32_tflops", self.fp32_tflops, "dense peak of fp32", between(1e-6, kLarge));
    visit("fp64_tflops", self.fp64_tflops, "dense peak of fp64", between(1e-6, kLarge));
    visit("memory_gb_per_s", self.memory_gb_per_s, "bandwidth of the memory",
          between(1e-3, kLarge));
    visit("products_share", self.products_share, "share of the peak that a large product reaches",
          between(1e-3, 1.0));
    visit("products_half_gflop", self.products_half_gflop,
          "10^9 operations of a product that reaches half of that share", between(0.0, kLarge));
    visit("attention_share", self.attention_share, "share of the peak that attention reaches",
          between(1e-3, 1.0));
    visit("memory_share", self.memory_share,
          "share of the bandwidth that functions beside products reach", between(1e-3, 1.0));
    visit("launch_us", self.launch_us, "microseconds in which a host launches a function",
          between(0.0, kLarge));
    visit("queued", self.queued,
          "launched functions wait in a queue, so that the host runs ahead of its device; false on "
          "CPUs");
    visit("flash_attention", self.flash_attention,
          "attention leaves out what is masked, and writes no matrix of weights");
    visit("fp32", self.fp32, "what was measured in fp32");
    visit("bf16", self.bf16, "what was measured in bf16 and fp16");
  }
};

// A link, as one device sees it.
struct LinkSpec {
  double gb_per_s = 25;
  double latency_us = 10;
  double device_share = 0;
  Curve rates;

  // Returns the seconds of one step of a collective, in which a device sends so many bytes, on a link
  // that is `times` as fast.
  [[nodiscard]] double step_seconds(double bytes, double times = 1) const;
  // Returns a link with so many times the bandwidth at all sizes.
  [[nodiscard]] LinkSpec faster(double times) const;
  // Returns a link that is as fast at all sizes as this one is at its best.
  [[nodiscard]] LinkSpec at_its_best() const;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("gb_per_s", self.gb_per_s,
          "10^9 bytes per second that a device sends in large collectives", between(1e-6, 1e9));
    visit("latency_us", self.latency_us, "microseconds of a step of a collective",
          between(0.0, 1e9));
    visit("device_share", self.device_share,
          "share of the device that communication takes from what is computed beside it",
          between(0.0, 1.0));
    visit("rates", self.rates,
          "10^9 bytes per second of a step, by the 10^6 bytes that a device sends in it, as "
          "measured: in place of gb_per_s, and latency_us is then the least time of a step");
  }
};

// What a run of weeks meets beside its steps.
struct OperationSpec {
  double price_per_device_hour = 0;
  double device_mtbf_hours = 0;
  double restart_seconds = 300;
  double storage_gb_per_s = 100;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("price_per_device_hour", self.price_per_device_hour,
          "in any currency; 0: no cost is told", between(0.0, 1e9));
    visit("device_mtbf_hours", self.device_mtbf_hours,
          "hours of one device between faults that end a job; 0: no faults are counted",
          between(0.0, 1e12));
    visit("restart_seconds", self.restart_seconds,
          "from a fault to the next step, with the time to notice it", between(0.0, 1e9));
    visit("storage_gb_per_s", self.storage_gb_per_s,
          "10^9 bytes of checkpoints per second that all nodes together write", between(1e-6, 1e9));
  }
};

struct ClusterConfig {
  DeviceSpec device;
  int devices_per_node = 8;
  LinkSpec node;
  LinkSpec network;
  OperationSpec operation;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("device", self.device, "one device");
    visit("devices_per_node", self.devices_per_node, "devices of a node", between(1, 1 << 16));
    visit("node", self.node, "links between devices of a node");
    visit("network", self.network, "links between nodes");
    visit("operation", self.operation, "prices, faults, storage");
  }
};

// Loads a cluster from a YAML file. Throws UsageError with everything that is wrong.
ClusterConfig load_cluster(const std::filesystem::path& file);

// Writes a cluster to a file, atomically. The comment at the head of an existing file stays, with a
// line for what measured something: "# NAME: NOTE" in place of an earlier one with this name.
void save_cluster(const ClusterConfig& cluster,
                  const std::filesystem::path& file,
                  std::string_view name,
                  std::string_view note);

}  // namespace shoal::config
