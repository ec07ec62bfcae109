// cluster_config.h -- the machine that a job is planned for: a device, a node of them, and the network between nodes.
//
//   const ClusterConfig cluster = load_cluster("clusters/h100.yaml");
//   cluster.device.peak(Precision::kBf16)          // floating-point operations per second
#pragma once

#include <filesystem>
#include <string>

#include "shoal/config/rule.h"
#include "shoal/config/train_config.h"

namespace shoal::config {

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
  }
};

// A link, as one device sees it.
struct LinkSpec {
  double gb_per_s = 25;
  double latency_us = 10;
  double device_share = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("gb_per_s", self.gb_per_s,
          "10^9 bytes per second that a device sends in large collectives", between(1e-6, 1e9));
    visit("latency_us", self.latency_us, "microseconds of a step of a collective",
          between(0.0, 1e9));
    visit("device_share", self.device_share,
          "share of the device that communication takes from what is computed beside it",
          between(0.0, 0.9));
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

}  // namespace shoal::config
