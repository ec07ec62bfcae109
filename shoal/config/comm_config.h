// comm_config.h -- how ranks communicate, and when a silent one is given up.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>

#include "shoal/config/value.h"
#include "shoal/core/limits.h"
#include "shoal/core/quantities.h"

namespace shoal::config {

class FieldList;

// What a job does that has lost a rank.
enum class LostRank { kRestart, kGoOn };

template <>
inline constexpr std::array kNames<LostRank> = {Named{"restart", LostRank::kRestart},
                                                Named{"go_on", LostRank::kGoOn}};

enum class Backend { kAuto, kGloo, kNccl, kMpi, kLocal, kStrict };

template <>
inline constexpr std::array kNames<Backend> = {
    Named{"auto", Backend::kAuto},   Named{"gloo", Backend::kGloo},
    Named{"nccl", Backend::kNccl},   Named{"mpi", Backend::kMpi},
    Named{"local", Backend::kLocal}, Named{"strict", Backend::kStrict}};

struct CommConfig {
  Backend backend = Backend::kAuto;
  Duration deadline = std::chrono::minutes(10);
  Duration rendezvous = std::chrono::minutes(5);
  std::optional<std::string> interface = std::nullopt;
  LostRank lost_rank = LostRank::kRestart;
  int spare_ranks = 0;
};

void list_fields(CommConfig& config, FieldList& list);

}  // namespace shoal::config
