#include "shoal/comm/world.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include <ATen/ops/zeros.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "shoal/cluster/address.h"
#include "shoal/cluster/rendezvous.h"
#include "shoal/cluster/watcher.h"
#include "shoal/comm/backends.h"
#include "shoal/comm/communicators.h"
#include "shoal/comm/nccl/nccl.h"
#include "shoal/comm/rank_device.h"
#include "shoal/comm/record/record.h"
#include "shoal/config/agreement.h"
#include "shoal/core/error.h"
#include "shoal/core/log.h"

namespace shoal::comm {
namespace {

using config::Backend;

constexpr Duration kGoodbye = std::chrono::seconds(10);
constexpr const char* kConfigKey = "config";  // shared_config of rank 0

std::string keys_of_round(int number) { return format("round/{}/", number); }

// A peer that has ended, or left the round, has closed its connections. Calls that do not notice, because
// a message is half received, are ended here; those that can end by themselves have had the time.
std::function<void()> break_off_when_lost(Communicators& communicators) {
  return [&communicators, lost = false]() mutable {
    if (std::exchange(lost, communicators.has_lost_a_connection()) &&
        !communicators.is_broken_off())
      communicators.break_off();
  };
}

}  // namespace

WorldOptions world_options(const config::RunConfig& config) {
  return {.backend = config.comm.backend,
          .deadline = config.comm.deadline,
          .rendezvous = config.comm.rendezvous,
          .interface = config.comm.interface,
          .device = config.train.device};
}

class World::Parts {
 public:
  cluster::Membership me;  // in this round
  WorldOptions options;
  c10::Device device = c10::Device(c10::kCPU);
  Backend chosen = Backend::kLocal;
  ListenerSlot listener = std::make_shared<std::atomic<CallListener*>>(nullptr);
  ListenerSlot control_listener = std::make_shared<std::atomic<CallListener*>>(nullptr);
  std::optional<cluster::Rendezvous> meeting;
  std::optional<cluster::Rounds> rounds;
  cluster::Round round;
  std::shared_ptr<cluster::StoreClient> store;  // of this round; nullptr without a store
  std::unique_ptr<Communicators> communicators;
  std::unique_ptr<cluster::Watcher> watcher;

  // Meets the other ranks. Returns false when this process had to wait to be called in, and the job
  // ended before that.
  bool meet(Backend backend, const cluster::Environment& environment) {
    if (backend == Backend::kLocal || backend == Backend::kMpi) return true;
    for (;;) {
      meeting.emplace(cluster::meet(me, environment,
                                    {.patience = options.rendezvous,
                                     .deadline = options.deadline,
                                     .interface = options.interface,
                                     .board = options.board}));
      if (!options.rounds) return true;
      rounds.emplace(meeting->store(), cluster::RoundsOptions{.seat = me.rank,
                                                              .seats = me.world_size,
                                                              .arrival = meeting->arrival(),
                                                              .deadline = options.deadline});
      if (me.rank == 0) meeting->store()->set(kConfigKey, options.shared_config);
      const int taking_part = me.world_size - options.spares;
      if (meeting->arrival() == 1 && me.rank < taking_part) {
        enter(rounds->first(taking_part));
        return true;
      }
      try {
        require_agreement();
        const std::optional<cluster::Round> called = rounds->called();
        if (called) enter(*called);
        return called.has_value();
      } catch (const PeerLost&) {
        if (me.restarts == 0) throw;
        // The store is gone with the job that might have called: the next one is at the same place.
        rounds.reset();
        meeting.reset();
      }
    }
  }

  // The config may have been edited since the job began.
  void require_agreement() const {
    const std::string difference = config::difference(
        options.shared_config, meeting->store()->get(kConfigKey, options.rendezvous));
    if (!difference.empty())
      throw UsageError(
          format("rank {} is started with {} as the job it would return to: it is left out until "
                 "the job is restarted",
                 me.rank, difference));
  }

  void enter(const cluster::Round& next) {
    const int seat = round.seats.empty() ? me.rank : round.seats[static_cast<size_t>(me.rank)];
    round = next;
    const auto place = std::find(round.seats.begin(), round.seats.end(), seat);
    me.rank = static_cast<int>(place - round.seats.begin());
    me.world_size = static_cast<int>(round.seats.size());
  }

  [[nodiscard]] CommunicatorsOptions communicators_under(Backend backend,
                                                         const std::string& names) const {
    return {.backend = backend,
            .rank = me.rank,
            .world_size = me.world_size,
            .device = device,
            .store = meeting
                         ? std::make_shared<cluster::StoreClient>(meeting->store()->under(names))
                         : nullptr,
            .address = meeting ? meeting->address() : "",
            .deadline = options.deadline,
            .control_block = options.control_block,
            .reuse_groups = options.reuse_groups,
            .can_be_left = options.rounds,
            .board = options.board,
            .listener = listener,
            .control_listener = control_listener,
            .on_lost = on_lost()};
  }

  void connect_all() {
    const bool left_alone = me.world_size == 1 && round.number > 0;  // until others are called in
    CommunicatorsOptions of_round =
        communicators_under(left_alone ? Backend::kLocal : chosen, keys_of_round(round.number));
    store = of_round.store;
    communicators = std::make_unique<Communicators>(std::move(of_round));
    communicators->control().barrier("every rank is connected");
    communicators->close_doors();
  }

  // Ranks leave thousands of keys in each round, and a job of months has many. Whoever was left out of the
  // round before may still ask for something of it.
  void forget_old_rounds() const {
    if (me.rank == 0 && round.number >= 2)
      meeting->store()->remove_under(keys_of_round(round.number - 2));
  }

  [[nodiscard]] std::function<void(const Error&)> on_lost() const {
    return [told = options.on_lost](const Error& lost) {
      if (!told) throw Error(lost);  // from a thread: terminates the process
      told(lost);
    };
  }

  // A job with rounds goes on without a rank that does not answer: calls that wait for it fail, and the
  // thread that made them leaves the round. A rank that is stuck itself ends.
  [[nodiscard]] std::function<void(const Error&)> on_watched() {
    return [this](const Error& error) {
      if (!has_rounds() || error.exit_code() != ExitCode::kRequeue) {
        communicators->fail();
        return on_lost()(error);
      }
      log::warn("{}", error.what());
      communicators->break_off();
    };
  }

  [[nodiscard]] std::function<void(const std::vector<int>&)> on_silent() {
    return [this](const std::vector<int>& ranks) {
      if (!has_rounds()) return;
      for (const int rank : ranks) rounds->give_up(round, round.seats[static_cast<size_t>(rank)]);
    };
  }

  [[nodiscard]] bool has_rounds() const { return rounds && communicators->can_break_off(); }

  void leave_round() {
    watcher.reset();
    communicators->break_off();
    auto alone = std::make_unique<Communicators>(CommunicatorsOptions{});  // until the next round
    Communicators::destroy_in_background(std::exchange(communicators, std::move(alone)));
    store.reset();
  }

  // Takes part in the transfer of this seat, if there is one.
  void transfer_state(const cluster::Round& next,
                      const std::function<void(Group pair, int source)>& send) {
    const int seat = round.seats[static_cast<size_t>(me.rank)];
    const auto transfer = std::find_if(
        next.transfers.begin(), next.transfers.end(),
        [&](const cluster::StateTransfer& each) { return each.from == seat || each.to == seat; });
    if (transfer == next.transfers.end()) return;
    const auto rank_of = [&](int of) {
      return static_cast<int>(std::find(round.seats.begin(), round.seats.end(), of) -
                              round.seats.begin());
    };
    std::vector<int> pair = {rank_of(transfer->from), rank_of(transfer->to)};
    const int source = pair[0] < pair[1] ? 0 : 1;
    std::sort(pair.begin(), pair.end());
    if (transfer->to == seat)
      log::info("takes the state after step {} from rank {}, which had finished it", next.step,
                rank_of(transfer->from));
    auto between = std::make_unique<Communicators>(
        communicators_under(Backend::kGloo, keys_of_round(next.number) + "transfers/"));
    std::optional<cluster::Watcher> watches;
    if (options.board != nullptr)
      watches.emplace(cluster::WatcherOptions{.rank = me.rank,
                                              .board = options.board,
                                              .deadline = options.deadline,
                                              .on_end = on_lost(),
                                              .on_look = break_off_when_lost(*between)});
    try {
      Group group = between->group("transfer", pair);
      send(group, source);
      group.barrier("both have the state").wait();  // then connections may close
      watches.reset();
    } catch (const PeerLost&) {
      watches.reset();
      between->break_off();
      Communicators::destroy_in_background(std::move(between));
      throw;
    }
  }
};

World::World(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

World::~World() = default;

std::unique_ptr<World> World::join(const cluster::Membership& me,
                                   const cluster::Environment& environment,
                                   const WorldOptions& options) {
  // Gloo writes to sockets whose peer may be gone: an error we report, not a reason to die silently.
  ::signal(SIGPIPE, SIG_IGN);
  auto parts = std::make_unique<Parts>();
  parts->me = me;
  parts->options = options;
  *parts->listener = *parts->control_listener = options.listener;
  parts->device = rank_device(options.device, options.backend, me, environment);
  // Each thread has a current device; those of autograd follow their tensors.
  c10::impl::VirtualGuardImpl(parts->device.type()).setDevice(parts->device);
  parts->chosen = choose_backend(options.backend, me, parts->device.type());
  if (parts->chosen == Backend::kNccl) require_nccl();  // before others wait for this rank
  if (!parts->meet(parts->chosen, environment)) return nullptr;
  parts->connect_all();
  return std::unique_ptr<World>(new World(std::move(parts)));
}

std::unique_ptr<World> World::record(int rank,
                                     int world_size,
                                     CallListener* listener,
                                     c10::Device device) {
  auto parts = std::make_unique<Parts>();
  parts->me.rank = rank;
  parts->me.world_size = world_size;
  *parts->listener = *parts->control_listener = listener;
  parts->device = device;
  parts->communicators = std::make_unique<Communicators>(
      CommunicatorsOptions{.rank = rank,
                           .world_size = world_size,
                           .device = device,
                           .listener = parts->listener,
                           .control_listener = parts->control_listener},
      make_record_transport());
  return std::unique_ptr<World>(new World(std::move(parts)));
}

int World::rank() const { return parts_->me.rank; }

int World::size() const { return parts_->me.world_size; }

Duration World::deadline() const { return parts_->options.deadline; }

const cluster::Membership& World::membership() const { return parts_->me; }

std::string World::backend() const { return parts_->communicators->backend(); }

c10::Device World::device() const { return parts_->device; }

std::string World::device_name() const { return device().is_cpu() ? "" : gpu_name(device()); }

std::string World::address() const { return parts_->meeting ? parts_->meeting->address() : ""; }

std::string World::store_endpoint() const {
  return parts_->meeting ? parts_->meeting->endpoint().text() : "";
}

Group World::group(const std::string& name, const std::vector<int>& ranks) {
  return parts_->communicators->group(name, ranks);
}

c10::intrusive_ptr<c10d::Backend> World::bare_group(const std::string& name,
                                                    const std::vector<int>& ranks) {
  return parts_->communicators->bare_group(name, ranks);
}

void World::listen(CallListener* listener) { *parts_->listener = listener; }

Control& World::control() { return parts_->communicators->control(); }

void World::close_doors() { parts_->communicators->close_doors(); }

void World::watch() {
  SHOAL_CHECK(parts_->options.board != nullptr, "there is no board to watch");
  parts_->watcher = std::make_unique<cluster::Watcher>(cluster::WatcherOptions{
      .rank = rank(),
      .world_size = size(),
      .store = parts_->store,
      .board = parts_->options.board,
      .deadline = parts_->options.deadline,
      .on_end = parts_->on_watched(),
      .on_silent = parts_->on_silent(),
      .on_look = has_rounds() ? break_off_when_lost(*parts_->communicators) : nullptr});
  control().barrier("every rank is watched");
}

void World::unwatch() {
  parts_->watcher.reset();
  control().barrier("nobody is watched any more");
}

void World::tell_step(int64_t steps_done) {
  if (parts_->watcher) parts_->watcher->tell_step(steps_done);
}

ActivityBoard* World::board() const { return parts_->options.board; }

std::vector<std::string> World::hosts() {
  // A fixed-width table, one row per rank, filled by an all-reduce: no rank needs the store for it.
  constexpr int64_t kWidth = 64;
  const at::Tensor table = at::zeros({size(), kWidth}, at::kLong);
  const std::string mine = cluster::host_name().substr(0, kWidth);
  for (size_t i = 0; i < mine.size(); ++i) {
    table.mutable_data_ptr<int64_t>()[static_cast<size_t>(rank() * kWidth) + i] =
        static_cast<unsigned char>(mine[i]);
  }
  control().all_reduce(table, Reduce::kSum, "host names");
  std::vector<std::string> names(static_cast<size_t>(size()));
  for (size_t row = 0; row < names.size(); ++row) {
    const int64_t* letters = table.const_data_ptr<int64_t>() + row * kWidth;
    for (int64_t i = 0; i < kWidth && letters[i] != 0; ++i)
      names[row] += static_cast<char>(letters[i]);
  }
  return names;
}

bool World::has_rounds() const { return parts_->has_rounds(); }

const cluster::Round& World::round() const { return parts_->round; }

std::vector<int> World::newly_waiting() {
  if (!parts_->rounds->somebody_came(parts_->round)) return {};
  return parts_->rounds->waiting(parts_->round);
}

void World::break_off() { parts_->communicators->break_off(); }

bool World::next_round(std::optional<int64_t> steps_done,
                       const cluster::DecideRound& decide,
                       const std::function<void(Group pair, int source)>& transfer) {
  parts_->leave_round();
  cluster::Rounds& rounds = *parts_->rounds;
  const int seat = parts_->round.seats[static_cast<size_t>(rank())];
  std::optional<cluster::Round> next = rounds.next(parts_->round, steps_done, decide);
  if (next) parts_->transfer_state(*next, transfer);
  if (next && !next->has(seat)) next = rounds.called_after(*next);
  if (!next) return false;
  parts_->enter(*next);
  parts_->connect_all();
  parts_->forget_old_rounds();
  return true;
}

bool World::destroys_groups() { return Communicators::are_being_destroyed(); }

void World::leave() {
  control().barrier("leaving");
  parts_->watcher.reset();
  if (parts_->rounds && rank() == 0) parts_->rounds->end(parts_->round);
  parts_->rounds.reset();
  parts_->communicators.reset();
  parts_->store.reset();
  if (parts_->meeting) parts_->meeting->leave(kGoodbye);
  parts_->meeting.reset();
}

}  // namespace shoal::comm
