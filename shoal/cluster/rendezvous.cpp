#include "shoal/cluster/rendezvous.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include "shoal/cluster/address.h"
#include "shoal/cluster/descriptors.h"
#include "shoal/cluster/restarts.h"
#include "shoal/cluster/rounds.h"
#include "shoal/cluster/slurm_node.h"
#include "shoal/cluster/watcher.h"
#include "shoal/core/error.h"
#include "shoal/core/log.h"

namespace shoal::cluster {
namespace {

constexpr int kPortCandidates = 8;
// Below the range from which Linux picks ports for outgoing connections.
constexpr int kFirstPort = 20000;
constexpr int kPortSpan = 32768 - kFirstPort;
// For a launcher to end its ranks when one of them has missed a peer, and to start them again: at most
// five seconds for them to end, fifteen for the kernel to let them go, and a minute between two starts.
constexpr Duration kForALauncher = std::chrono::minutes(2);
constexpr const char* kEveryoneIsHere = "rendezvous/complete";
constexpr const char* kNever = "rendezvous/never";

// The calls of other hosts' ranks miss this one within the deadline. Whatever else starts a job again
// starts all its ranks together.
Duration patience_of(const Membership& me,
                     const Environment& environment,
                     const RendezvousOptions& options) {
  const bool by_launcher = environment.get_number(kRestartCountVariable).value_or(0) > 0;
  if (!by_launcher || me.num_nodes == 1) return options.patience;
  return std::max(options.patience, options.deadline + kForALauncher);
}

// A watcher names a lost rank before its connection ends.
Duration silence_of_host(const RendezvousOptions& options) {
  return 2 * silence_of(options.deadline);
}

std::string rank_key(int rank) { return format("rendezvous/rank/{}", rank); }

std::vector<int> ports_of_job(const Membership& me, const Secret& secret) {
  std::vector<int> ports;
  if (me.store_port) ports.push_back(*me.store_port);
  const std::string digest = secret.mac({"shoal store ports"});
  for (int i = 0; i < kPortCandidates; ++i) {
    uint32_t draw = 0;
    std::memcpy(&draw, digest.data() + i * sizeof(draw), sizeof(draw));
    ports.push_back(kFirstPort + static_cast<int>(draw % kPortSpan));
  }
  return ports;
}

// The address of this host that the rest of the job can reach, seen from rank 0's node.
std::string address_of_first_node(const Membership& me, const std::vector<std::string>& resolved) {
  for (const std::string& address : resolved) {
    if (is_local(address) && !is_loopback(address)) return address;
  }
  // Debian resolves a host's own name to 127.0.1.1: ask instead which way leads to another host of
  // the job.
  for (const std::string& host : me.hosts) {
    const auto towards = host == me.store_host ? std::nullopt : address_towards(host);
    if (towards && !is_loopback(*towards)) return *towards;
  }
  for (const std::string& address : resolved) {
    if (is_local(address)) return address;
  }
  throw UsageError(format(
      "rank 0 runs on {}, but the store's host '{}' is not an address of it: set MASTER_ADDR "
      "(or --address of `shoal launch`) to the address of rank 0's host",
      host_name(), me.store_host));
}

[[noreturn]] void refuse_unknown_host(const Membership& me) {
  if (me.store_host.empty()) {
    throw UsageError(
        format("launcher '{}' does not say which host rank 0 runs on: export MASTER_ADDR with the "
               "address of that host",
               me.launcher));
  }
  throw UsageError(format(
      "the host of rank 0, '{}', does not resolve to an address: {} an address that every rank "
      "can reach",
      me.store_host, me.launcher == "shoal launch" ? "give --address" : "export MASTER_ADDR with"));
}

// Names the ranks behind the missing keys: "ranks 3, 7 and 12 more".
std::string missing_ranks(const StoreTimeout& timeout) {
  std::string text = timeout.num_missing() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < timeout.missing().size(); ++i) {
    const std::string& key = timeout.missing()[i];
    text += (i == 0 ? "" : ", ") + key.substr(key.rfind('/') + 1);
  }
  const auto more = timeout.num_missing() - static_cast<int64_t>(timeout.missing().size());
  return more > 0 ? format("{} and {} more", text, more) : text;
}

struct Arrived {
  StoreClient store;
  int arrival = 1;
};

// Connects to the store of this job. A rank that was started again may find the store that its
// predecessor was at, because rank 0 on another host has not noticed yet: it waits there until that
// store is gone, unless the job goes on meanwhile. Without restarts such a predecessor is a rank of
// another job.
Arrived arrive(const Membership& me,
               const StoreTarget& target,
               const std::function<Duration()>& left) {
  const bool may_wait = me.restarts > 0 && me.rank > 0;
  for (;;) {
    StoreClient store = StoreClient::connect(target, left());
    try {
      const int64_t arrival = store.add(format("rendezvous/arrivals/{}", me.rank), 1);
      if (arrival == 1 || (may_wait && has_rounds(store)))
        return {std::move(store), static_cast<int>(arrival)};
      if (!may_wait)
        throw UsageError(format(
            "rank {} is there already: two jobs with the same name '{}' run at once; set SHOAL_JOB "
            "to a name of its own for each",
            me.rank, me.job));
      const Activity doing("waiting until the job's store from before the restart is gone");
      store.wait({kNever}, left());
    } catch (const StoreTimeout&) {
      if (!may_wait) throw;
      throw PeerLost(
          format("rank {} was started again, but the store from before the restart is still at {}",
                 me.rank, store.server().text()));
    } catch (const PeerLost&) {
      if (!may_wait) throw;
      // The store is gone, at whatever moment of this; the next one is at the same place.
    }
  }
}

// `left` of the whole `patience` remains.
void wait_for_everyone(const Membership& me, StoreClient& store, Duration patience, Duration left) {
  if (me.rank == 0) {
    const Activity doing("waiting for the other ranks to arrive");
    std::vector<std::string> keys;
    keys.reserve(static_cast<size_t>(me.world_size));
    for (int rank = 0; rank < me.world_size; ++rank) keys.push_back(rank_key(rank));
    try {
      store.wait(keys, left);
    } catch (const StoreTimeout& timeout) {
      throw PeerLost(format(
          "{} of {} did not arrive at rank 0's store at {} within {}: see that all ranks are "
          "started, or raise comm.rendezvous",
          missing_ranks(timeout), me.world_size, store.server().text(), format_duration(patience)));
    }
    store.set(kEveryoneIsHere, "1");
    return;
  }
  const Activity doing("waiting for rank 0 to see every rank");
  // Rank 0 knows who is missing: let it speak first.
  store.wait({kEveryoneIsHere}, left + std::chrono::seconds(10));
}

}  // namespace

StorePlace store_place(const Membership& me,
                       const Secret& secret,
                       const std::optional<std::string>& interface) {
  StorePlace place;
  place.ports = ports_of_job(me, secret);
  const bool beside_rank_0 = me.node == 0;
  if (me.num_nodes == 1) {
    place.addresses = {interface ? address_of_interface(*interface) : "127.0.0.1"};
    return place;
  }
  // Other nodes only know the name that the launcher gives, so that is where the store is, whatever
  // interface the data takes.
  std::vector<std::string> resolved = resolve(me.store_host);
  if (resolved.empty() && me.scheduler == "slurm")
    resolved = resolve(address_of_slurm_node(me.store_host));
  if (resolved.empty()) refuse_unknown_host(me);
  place.addresses =
      beside_rank_0 ? std::vector<std::string>{address_of_first_node(me, resolved)} : resolved;
  return place;
}

Rendezvous meet(const Membership& me,
                const Environment& environment,
                const RendezvousOptions& options) {
  const Duration patience = patience_of(me, environment, options);
  const Clock::time_point deadline = Clock::now() + patience;
  const auto left = [&] {
    return std::max(std::chrono::duration_cast<Duration>(deadline - Clock::now()), Duration(1));
  };
  const Secret secret = me.world_size == 1 ? Secret::random() : job_secret(environment, me.job);
  const StorePlace place = store_place(me, secret, options.interface);
  StoreTarget target{{}, secret, silence_of_host(options)};
  Rendezvous meeting;
  // Rank 0 has a connection of each rank's, and all have many of large groups.
  need_descriptors(me.rank == 0 ? static_cast<size_t>(me.world_size) : 0,
                   format("the store of {} ranks", me.world_size));
  if (me.rank == 0) {
    meeting.server_ = std::make_unique<StoreServer>(
        StoreServerOptions{.address = place.addresses.front(),
                           .ports = me.world_size == 1 ? std::vector<int>{0} : place.ports,
                           .secret = secret,
                           // A rank, and a few threads of it that wait on their own.
                           .max_clients = 4 * me.world_size + 16,
                           .silence = silence_of_host(options),
                           .board = options.board});
    target.endpoints = {meeting.server_->endpoint()};
  } else {
    for (const std::string& address : place.addresses) {
      for (const int port : place.ports) target.endpoints.push_back({address, port});
    }
  }
  Arrived arrived = arrive(me, target, left);
  meeting.arrival_ = arrived.arrival;
  meeting.client_ = std::make_shared<StoreClient>(std::move(arrived.store));
  meeting.address_ =
      options.interface ? address_of_interface(*options.interface) : meeting.client_->own_address();
  StoreClient& store = *meeting.store();
  store.set(rank_key(me.rank), "");
  if (meeting.arrival_ == 1) wait_for_everyone(me, store, patience, left());
  return meeting;
}

void Rendezvous::leave(Duration patience) {
  client_.reset();
  if (server_ && !server_->drain(patience)) {
    log::warn("rank 0 leaves although {} ranks still use its store", server_->counts().clients);
  }
  server_.reset();
}

}  // namespace shoal::cluster
