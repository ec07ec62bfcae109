// train_config.h -- how long a run goes, in what precision, and what it leaves behind.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/config/value.h"

namespace shoal::config {

class FieldList;

enum class Precision { kFp32, kTf32, kBf16, kFp16, kFp64 };
enum class Recompute { kNone, kSelective, kFull };
enum class DeviceKind { kAuto, kCpu, kCuda };

template <>
inline constexpr std::array kNames<Precision> = {
    Named{"fp32", Precision::kFp32}, Named{"tf32", Precision::kTf32},
    Named{"bf16", Precision::kBf16}, Named{"fp16", Precision::kFp16},
    Named{"fp64", Precision::kFp64}};

template <>
inline constexpr std::array kNames<Recompute> = {Named{"none", Recompute::kNone},
                                                 Named{"selective", Recompute::kSelective},
                                                 Named{"full", Recompute::kFull}};

template <>
inline constexpr std::array kNames<DeviceKind> = {Named{"auto", DeviceKind::kAuto},
                                                  Named{"cpu", DeviceKind::kCpu},
                                                  Named{"cuda", DeviceKind::kCuda}};

// The values of init_from beside a directory.
constexpr const char* kFromScratch = "scratch";
constexpr const char* kFromResume = "resume";

struct TrainConfig {
  int64_t steps = 1000;
  int64_t batch = 16;
  std::optional<int64_t> micro_batch = std::nullopt;
  Precision precision = Precision::kFp32;
  Recompute recompute = Recompute::kNone;
  DeviceKind device = DeviceKind::kAuto;
  std::optional<int> threads = std::nullopt;
  std::string init_from = kFromScratch;
  bool eval_only = false;
  int64_t log_every = 10;
  int64_t eval_every = 250;
  int64_t eval_batches = 20;
  std::string sample_prompt = "The";
  int64_t sample_tokens = 0;
  int64_t save_every = 1000;
  int keep = 2;
  int64_t keep_every = 0;
  bool background_save = true;
  int64_t compare_every = 100;
  int64_t replay_every = 0;
  std::vector<int64_t> trace_steps = {};
  int prometheus_port = 0;
};

void list_fields(TrainConfig& config, FieldList& list);

}  // namespace shoal::config
