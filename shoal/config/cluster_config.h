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
#include "shoal/config/train_config.h"

namespace shoal::config {

class FieldList;

// A rate by the size of the work, measured at some sizes.
struct Curve {
  std::vector<double> sizes;
  std::vector<double> rates;

  [[nodiscard]] bool empty() const { return sizes.empty(); }
  // Returns the rate at a size, between points by a power law; the first and last rate beyond them.
  // The curve is not empty.
  [[nodiscard]] double at(double size) const;
};

void list_fields(Curve& config, FieldList& list);

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
};

void list_fields(MeasuredSpec& config, FieldList& list);

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
};

void list_fields(DeviceSpec& config, FieldList& list);

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
};

void list_fields(LinkSpec& config, FieldList& list);

// What a run of weeks meets beside its steps.
struct OperationSpec {
  double price_per_device_hour = 0;
  double device_mtbf_hours = 0;
  double restart_seconds = 300;
  double storage_gb_per_s = 100;
};

void list_fields(OperationSpec& config, FieldList& list);

struct ClusterConfig {
  DeviceSpec device;
  int devices_per_node = 8;
  LinkSpec node;
  LinkSpec network;
  OperationSpec operation;
};

void list_fields(ClusterConfig& config, FieldList& list);

// Loads a cluster from a YAML file. Throws UsageError with everything that is wrong.
ClusterConfig load_cluster(const std::filesystem::path& file);

// Writes a cluster to a file, atomically. The comment at the head of an existing file stays, with a
// line for what measured something: "# NAME: NOTE" in place of an earlier one with this name.
void save_cluster(const ClusterConfig& cluster,
                  const std::filesystem::path& file,
                  std::string_view name,
                  std::string_view note);

}  // namespace shoal::config
