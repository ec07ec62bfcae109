#include "shoal/comm/world.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <map>
#include <numeric>
#include <thread>

#include <ATen/ops/zeros.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "shoal/cluster/address.h"
#include "shoal/cluster/rendezvous.h"
#include "shoal/cluster/watcher.h"
#include "shoal/comm/backends.h"
#include "shoal/comm/gloo/gloo.h"
#include "shoal/comm/group_state.h"
#include "shoal/comm/local/local.h"
#include "shoal/comm/mpi/mpi.h"
#include "shoal/comm/nccl/nccl.h"
#include "shoal/comm/rank_device.h"
#include "shoal/comm/record/record.h"
#include "shoal/comm/roll_call.h"
#include "shoal/comm/stream_watch.h"
#include "shoal/comm/strict/strict.h"
#include "shoal/comm/transport.h"
#include "shoal/core/error.h"
#include "shoal/core/log.h"

namespace shoal::comm {
namespace {

using config::Backend;

constexpr Duration kGoodbye = std::chrono::seconds(10);

// Rounds whose groups are being destroyed in the background. Their threads outlive the world, so that this
// belongs to the process.
std::atomic<int> being_destroyed = 0;

std::vector<int> range(int first, int end) {
  std::vector<int> ranks(static_cast<size_t>(end - first));
  std::iota(ranks.begin(), ranks.end(), first);
  return ranks;
}

c10::intrusive_ptr<c10d::Backend> connect_group(Transport& transport,
                                                const GroupSpec& group,
                                                bool bare) {
  const Activity doing("connecting group " + group.name);
  const int color = group.ranks.front();
  try {
    return bare ? transport.make_bare_group(group, color) : transport.make_group(group, color);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    const bool shared = std::string_view(e.what()).find("Duplicate GPU") != std::string_view::npos;
    const std::string what =
        format("rank {}: group {} of {} ranks cannot be connected through {}: {}",
               group.ranks[static_cast<size_t>(group.rank)], group.name, group.size(),
               transport.name(), first_line(e));
    if (shared) throw UsageError(what);
    throw PeerLost(what);
  }
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
  std::map<std::string, int> made;  // groups, by name
  // The slots that groups of the data and of the control look for a listener in. Calls of the control are made on a
  // thread of its own: who comes and goes while they are under way is told of the others alone.
  std::shared_ptr<std::atomic<CallListener*>> listener =
      std::make_shared<std::atomic<CallListener*>>(nullptr);
  std::shared_ptr<std::atomic<CallListener*>> control_listener =
      std::make_shared<std::atomic<CallListener*>>(nullptr);
  std::shared_ptr<JobHealth> job = std::make_shared<JobHealth>();
  std::shared_ptr<RollCall> roll_call;  // one of all groups: their calls run out together
  std::shared_ptr<StreamWatch> stream_watch;
  std::map<std::vector<int>, Group> reusable;
  std::optional<cluster::Rendezvous> meeting;
  std::optional<cluster::Rounds> rounds;
  cluster::Round round;
  std::shared_ptr<cluster::StoreClient> store;   // of this round; nullptr without a store
  std::unique_ptr<Transport> data;               // nullptr: every group has one rank
  std::unique_ptr<Transport> control_transport;  // where `data` cannot carry CPU tensors
  std::vector<c10::intrusive_ptr<c10d::Backend>> backends;  // of this round, with rounds
  std::optional<Control> control;
  std::unique_ptr<cluster::Watcher> watcher;

  // Meets the other ranks. Returns false when this process had to wait to be called in, and the job
  // ended before that.
  bool meet(Backend backend, const cluster::Environment& environment) {
    if (backend == Backend::kLocal || backend == Backend::kMpi) return true;
    for (;;) {
      meeting.emplace(cluster::meet(me, environment,
                                    {.patience = options.rendezvous,
                                     .interface = options.interface,
                                     .board = options.board}));
      if (!options.rounds) return true;
      rounds.emplace(meeting->store(), cluster::RoundsOptions{.seat = me.rank,
                                                              .seats = me.world_size,
                                                              .arrival = meeting->arrival(),
                                                              .deadline = options.deadline});
      const int taking_part = me.world_size - options.spares;
      if (meeting->arrival() == 1 && me.rank < taking_part) {
        enter(rounds->first(taking_part));
        return true;
      }
      try {
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

  void enter(const cluster::Round& next) {
    const int seat = round.seats.empty() ? me.rank : round.seats[static_cast<size_t>(me.rank)];
    round = next;
    const auto place = std::find(round.seats.begin(), round.seats.end(), seat);
    me.rank = static_cast<int>(place - round.seats.begin());
    me.world_size = static_cast<int>(round.seats.size());
  }

  // Makes the transports of a round.
  void connect(Backend backend) {
    if (meeting)
      store = std::make_shared<cluster::StoreClient>(
          meeting->store()->under(format("round/{}/", round.number)));
    if (backend == Backend::kLocal) {
      if (me.world_size == 1) return;
      throw UsageError(format(
          "comm.backend is local, but {} ranks were launched: choose gloo, mpi, nccl or auto",
          me.world_size));
    }
    if (backend == Backend::kMpi) {
      data = make_mpi_transport(
          {.rank = me.rank, .world_size = me.world_size, .board = options.board});
      return;
    }
    if (me.world_size == 1 && round.number > 0) return;  // alone now, until others are called in
    auto gloo = gloo_under(store);
    if (backend == Backend::kGloo) {
      data = std::move(gloo);
      return;
    }
    if (backend == Backend::kStrict) {
      data = make_strict_transport(std::move(gloo), options.board);
      return;
    }
    control_transport = std::move(gloo);
    data = make_nccl_transport({.store = store,
                                .rank = me.rank,
                                .world_size = me.world_size,
                                .device = device,
                                .deadline = options.deadline});
    stream_watch = std::make_shared<StreamWatch>(device, options.deadline, on_lost());
  }

  [[nodiscard]] std::unique_ptr<Transport> gloo_under(
      const std::shared_ptr<cluster::StoreClient>& names) const {
    return make_gloo_transport({.store = names,
                                .address = meeting->address(),
                                .deadline = options.deadline,
                                .abortable = options.rounds,
                                .board = options.board});
  }

  [[nodiscard]] std::function<void(const Error&)> on_lost() const {
    return [job = job, told = options.on_lost](const Error& lost) {
      job->broken = true;
      if (!told) throw Error(lost);  // from a thread: terminates the process
      told(lost);
    };
  }

  // A job with rounds goes on without a rank that does not answer: calls that wait for it fail, and the
  // thread that made them leaves the round. A rank that is stuck itself ends.
  [[nodiscard]] std::function<void(const Error&)> on_watched() {
    return [this, end = on_lost()](const Error& error) {
      if (!has_rounds() || error.exit_code() != ExitCode::kRequeue) return end(error);
      log::warn("{}", error.what());
      break_off();
    };
  }

  [[nodiscard]] std::function<void(const std::vector<int>&)> on_silent() {
    return [this](const std::vector<int>& ranks) {
      if (!has_rounds()) return;
      for (const int rank : ranks) rounds->give_up(round, round.seats[static_cast<size_t>(rank)]);
    };
  }

  // A peer that has ended, or left the round, has closed its connections. Calls that do not notice, because
  // a message is half received, are ended here; those that can end by themselves have had the time.
  [[nodiscard]] std::function<void()> on_look() {
    if (!has_rounds() || data == nullptr) return nullptr;
    return [this, lost = false]() mutable {
      if (std::exchange(lost, data->has_lost_a_connection()) && !job->broken_off) break_off();
    };
  }

  [[nodiscard]] bool has_rounds() const {
    return rounds && (data == nullptr || data->can_break_off());
  }

  // Every rank counts every group, also one it is alone in: so that all know a new group by the same
  // number, whatever groups of that name they were in before.
  GroupSpec spec_of(const std::string& name, const std::vector<int>& ranks) {
    const auto self = std::find(ranks.begin(), ranks.end(), me.rank);
    SHOAL_CHECK(self != ranks.end() && std::is_sorted(ranks.begin(), ranks.end()),
                "group {} must list rank {} and be ascending", name, me.rank);
    return {name, ranks, static_cast<int>(self - ranks.begin()), made[name]++};
  }

  // The members of a group made it together, so that either all of them have it or none.
  Group group(const std::string& name, const std::vector<int>& ranks) {
    if (!options.reuse_groups) return make_group(data.get(), name, ranks, listener);
    const auto found = reusable.find(ranks);
    if (found == reusable.end())
      return reusable.emplace(ranks, make_group(data.get(), name, ranks, listener)).first->second;
    (void)spec_of(name, ranks);  // is counted all the same
    return found->second;
  }

  Group make_group(Transport* transport,
                   const std::string& name,
                   const std::vector<int>& ranks,
                   const std::shared_ptr<std::atomic<CallListener*>>& listened_by) {
    auto state = std::make_shared<GroupState>();
    state->spec = spec_of(name, ranks);
    state->deadline = options.deadline;
    state->world_rank = me.rank;
    state->listener = listened_by;
    state->job = job;
    if (ranks.size() == 1 || transport == nullptr) {
      if (transport != nullptr) transport->stay_out();
      state->backend = make_local_backend();
      state->backend_name = "local";
    } else {
      state->backend = connect_group(*transport, state->spec, /*bare=*/false);
      state->backend_name = transport->name();
      if (options.rounds) backends.push_back(state->backend);
      if (transport->on_streams()) {
        state->stream_watch = stream_watch;
        state->device = device;
      }
    }
    if (store && !roll_call) roll_call = make_roll_call(store);
    state->roll_call = roll_call;
    if (roll_call) roll_call->enroll(state->spec, state->collectives);
    return Group(std::move(state));
  }

  // Forgets what belongs to the round before.
  void leave_round() {
    watcher.reset();
    reusable.clear();
    control.reset();
    job->let_go();
    roll_call.reset();
    destroy_in_background();
    store.reset();
    made.clear();
    job = std::make_shared<JobHealth>();
  }

  // Destroys the groups, and then what they were made by, in the background. Gloo does not end a message
  // that is half sent or received when the connection is lost, so that a group may end only when its own
  // time-out has passed; the process may end before.
  void destroy_in_background() {
    ++being_destroyed;
    std::thread([groups = std::exchange(backends, {}), first = std::move(data),
                 second = std::move(control_transport)]() mutable {
      groups.clear();
      first.reset();
      second.reset();
      --being_destroyed;
    }).detach();
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
    data = gloo_under(std::make_shared<cluster::StoreClient>(
        meeting->store()->under(format("round/{}/transfers/", next.number))));
    try {
      send(make_group(data.get(), "transfer", pair, listener), source);
    } catch (const PeerLost&) {
      break_off();
      destroy_in_background();
      throw;
    }
    backends.clear();
    data.reset();
    made.clear();
  }

  void connect_all() {
    connect(chosen);
    make_control();
    control->barrier("every rank is connected");
    if (data) data->close_doors();
    if (control_transport) control_transport->close_doors();
  }

  void break_off() {
    job->broken = true;
    if (data) data->break_off();
    if (control_transport) control_transport->break_off();
    job->broken_off = true;
    job->abort_transfers();
  }

  // Blocks of neighbours, and a group of their first ranks; see control.h.
  void make_control() {
    Transport* transport = control_transport ? control_transport.get() : data.get();
    const bool scales_itself = transport == nullptr || transport->name() != "gloo";
    const int block = scales_itself ? me.world_size : options.control_block;
    const int first = me.rank / block * block;
    Group neighbours =
        make_group(transport, "control", range(first, std::min(first + block, me.world_size)),
                   control_listener);
    std::optional<Group> leaders;
    if (me.world_size > block && me.rank == first) {
      std::vector<int> ranks;
      for (int rank = 0; rank < me.world_size; rank += block) ranks.push_back(rank);
      leaders = make_group(transport, "control leaders", ranks, control_listener);
    }
    control.emplace(std::move(neighbours), std::move(leaders), me.rank, me.world_size, block,
                    options.board);
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
  parts->data = make_record_transport();
  return std::unique_ptr<World>(new World(std::move(parts)));
}

int World::rank() const { return parts_->me.rank; }

int World::size() const { return parts_->me.world_size; }

Duration World::deadline() const { return parts_->options.deadline; }

const cluster::Membership& World::membership() const { return parts_->me; }

std::string World::backend() const { return parts_->data ? parts_->data->name() : "local"; }

c10::Device World::device() const { return parts_->device; }

std::string World::device_name() const { return device().is_cpu() ? "" : gpu_name(device()); }

std::string World::address() const { return parts_->meeting ? parts_->meeting->address() : ""; }

std::string World::store_endpoint() const {
  return parts_->meeting ? parts_->meeting->endpoint().text() : "";
}

Group World::group(const std::string& name, const std::vector<int>& ranks) {
  return parts_->group(name, ranks);
}

c10::intrusive_ptr<c10d::Backend> World::bare_group(const std::string& name,
                                                    const std::vector<int>& ranks) {
  if (ranks.size() == 1 || !parts_->data) {
    if (parts_->data) parts_->data->stay_out();
    return make_local_backend();
  }
  return connect_group(*parts_->data, parts_->spec_of(name, ranks), /*bare=*/true);
}

void World::listen(CallListener* listener) { *parts_->listener = listener; }

Control& World::control() {
  if (!parts_->control) parts_->make_control();
  return *parts_->control;
}

void World::close_doors() {
  if (parts_->data) parts_->data->close_doors();
  if (parts_->control_transport) parts_->control_transport->close_doors();
}

void World::watch() {
  SHOAL_CHECK(parts_->options.board != nullptr, "there is no board to watch");
  parts_->watcher = std::make_unique<cluster::Watcher>(
      cluster::WatcherOptions{.rank = rank(),
                              .world_size = size(),
                              .store = parts_->store,
                              .board = parts_->options.board,
                              .deadline = parts_->options.deadline,
                              .on_end = parts_->on_watched(),
                              .on_silent = parts_->on_silent(),
                              .on_look = parts_->on_look()});
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

std::vector<int> World::waiting_seats() { return parts_->rounds->waiting(parts_->round); }

void World::break_off() { parts_->break_off(); }

bool World::next_round(std::optional<int64_t> steps_done,
                       const cluster::DecideRound& decide,
                       const std::function<void(Group pair, int source)>& transfer) {
  parts_->break_off();
  parts_->leave_round();
  cluster::Rounds& rounds = *parts_->rounds;
  const int seat = parts_->round.seats[static_cast<size_t>(rank())];
  std::optional<cluster::Round> next = rounds.next(parts_->round, steps_done, decide);
  if (next) parts_->transfer_state(*next, transfer);
  if (next && !next->has(seat)) next = rounds.called_after(*next);
  if (!next) return false;
  parts_->enter(*next);
  parts_->connect_all();
  return true;
}

bool World::destroys_groups() { return being_destroyed > 0; }

void World::leave() {
  control().barrier("leaving");
  parts_->watcher.reset();
  if (parts_->rounds && rank() == 0) parts_->rounds->end(parts_->round);
  parts_->rounds.reset();
  parts_->reusable.clear();
  parts_->roll_call.reset();  // it has the store
  parts_->control.reset();
  parts_->backends.clear();
  parts_->stream_watch.reset();
  parts_->data.reset();
  parts_->control_transport.reset();
  parts_->store.reset();
  if (parts_->meeting) parts_->meeting->leave(kGoodbye);
  parts_->meeting.reset();
}

}  // namespace shoal::comm
