// comm_config.h -- how ranks communicate, and when a silent one is given up.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>

#include "shoal/config/rule.h"
#include "shoal/config/value.h"
#include "shoal/core/limits.h"
#include "shoal/core/quantities.h"

namespace shoal::config {

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

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(
        "backend", self.backend,
        "what moves tensors between ranks: nccl on GPUs, gloo on CPUs, mpi where the site has one, "
        "local for one rank alone, strict to find faults: gloo with the rules of nccl; auto: what "
        "fits the devices");
    visit("deadline", self.deadline,
          "how long a call between ranks may take before its peers are declared lost; all other "
          "times of watching follow from it",
          between(std::chrono::seconds(1), std::chrono::seconds(7 * 24 * 3600)));
    visit("rendezvous", self.rendezvous,
          "how long the ranks of a job may take to arrive before the missing ones are named",
          between(std::chrono::seconds(1), std::chrono::seconds(24 * 3600)));
    visit("interface", self.interface,
          "network interface or address that ranks listen on and talk through; auto: the one that "
          "reaches rank 0",
          one_interface());
    visit("lost_rank", self.lost_rank,
          "restart: a job that has lost a rank ends, and its launcher starts it again from the "
          "newest "
          "checkpoint; go_on: with two or more replicas, those that are left take the next step "
          "without it, and take it back when it returns");
    visit(
        "spare_ranks", self.spare_ranks,
        "with go_on: ranks that are started beyond those of the layout, and take the place of lost "
        "ones at once",
        between(0, kMaxRanks - 1));
  }
};

}  // namespace shoal::config
