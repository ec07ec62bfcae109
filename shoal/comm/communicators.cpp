#include "shoal/comm/communicators.h"

#include <algorithm>
#include <numeric>
#include <thread>
#include <utility>

#include "shoal/comm/gloo/gloo.h"
#include "shoal/comm/group_state.h"
#include "shoal/comm/local/local.h"
#include "shoal/comm/mpi/mpi.h"
#include "shoal/comm/nccl/nccl.h"
#include "shoal/comm/roll_call.h"
#include "shoal/comm/stream_watch.h"
#include "shoal/comm/strict/strict.h"

namespace shoal::comm {
namespace {

using config::Backend;

// Rounds that are being destroyed in the background. Their threads outlive the world, so that this belongs to
// the process.
std::atomic<int> rounds_being_destroyed = 0;

std::vector<int> range(int first, int end) {
  std::vector<int> ranks(static_cast<size_t>(end - first));
  std::iota(ranks.begin(), ranks.end(), first);
  return ranks;
}

std::unique_ptr<Transport> gloo_of(const CommunicatorsOptions& options) {
  return make_gloo_transport({.store = options.store,
                              .address = options.address,
                              .deadline = options.deadline,
                              .abortable = options.can_be_left,
                              .board = options.board});
}

// Returns nullptr when there is nobody to communicate with.
std::unique_ptr<Transport> transport_of(const CommunicatorsOptions& options) {
  switch (options.backend) {
    case Backend::kLocal:
      if (options.world_size == 1) return nullptr;
      throw UsageError(format(
          "comm.backend is local, but {} ranks were launched: choose gloo, mpi, nccl or auto",
          options.world_size));
    case Backend::kMpi:
      return make_mpi_transport(
          {.rank = options.rank, .world_size = options.world_size, .board = options.board});
    case Backend::kGloo:
      return gloo_of(options);
    case Backend::kStrict:
      return make_strict_transport(gloo_of(options), options.board);
    case Backend::kNccl:
      return make_nccl_transport({.store = options.store,
                                  .rank = options.rank,
                                  .world_size = options.world_size,
                                  .device = options.device,
                                  .deadline = options.deadline});
    case Backend::kAuto:
      break;
  }
  throw BugError("no backend was chosen");
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

Communicators::Communicators(CommunicatorsOptions options, std::unique_ptr<Transport> data)
    : options_(std::move(options)), job_(std::make_shared<JobHealth>()), data_(std::move(data)) {
  if (data_ == nullptr || !data_->on_streams()) return;
  control_transport_ = gloo_of(options_);
  stream_watch_ =
      std::make_shared<StreamWatch>(options_.device, options_.deadline,
                                    [job = job_, on_lost = options_.on_lost](const Error& lost) {
                                      job->broken = true;
                                      on_lost(lost);
                                    });
}

Communicators::Communicators(CommunicatorsOptions options)
    : Communicators(options, transport_of(options)) {}

Communicators::~Communicators() = default;

std::string Communicators::backend() const { return data_ ? data_->name() : "local"; }

// The members of a group made it together, so that either all of them have it or none.
Group Communicators::group(const std::string& name, const std::vector<int>& ranks) {
  if (!options_.reuse_groups) return make_group(data_.get(), name, ranks, options_.listener);
  const auto found = reusable_.find(ranks);
  if (found == reusable_.end())
    return reusable_.emplace(ranks, make_group(data_.get(), name, ranks, options_.listener))
        .first->second;
  (void)spec_of(name, ranks);  // is counted all the same
  return found->second;
}

c10::intrusive_ptr<c10d::Backend> Communicators::bare_group(const std::string& name,
                                                            const std::vector<int>& ranks) {
  if (ranks.size() == 1 || !data_) {
    if (data_) data_->stay_out();
    return make_local_backend();
  }
  return connect_group(*data_, spec_of(name, ranks), /*bare=*/true);
}

// Every rank counts every group, also one it is alone in: so that all know a new group by the same
// number, whatever groups of that name they were in before.
GroupSpec Communicators::spec_of(const std::string& name, const std::vector<int>& ranks) {
  const auto self = std::find(ranks.begin(), ranks.end(), options_.rank);
  SHOAL_CHECK(self != ranks.end() && std::is_sorted(ranks.begin(), ranks.end()),
              "group {} must list rank {} and be ascending", name, options_.rank);
  return {name, ranks, static_cast<int>(self - ranks.begin()), made_[name]++};
}

Group Communicators::make_group(Transport* transport,
                                const std::string& name,
                                const std::vector<int>& ranks,
                                const ListenerSlot& listener) {
  auto state = std::make_shared<GroupState>();
  state->spec = spec_of(name, ranks);
  state->deadline = options_.deadline;
  state->world_rank = options_.rank;
  state->listener = listener;
  state->job = job_;
  if (ranks.size() == 1 || transport == nullptr) {
    if (transport != nullptr) transport->stay_out();
    state->backend = make_local_backend();
    state->backend_name = "local";
  } else {
    state->backend = connect_group(*transport, state->spec, /*bare=*/false);
    state->backend_name = transport->name();
    if (options_.can_be_left) backends_.push_back(state->backend);
    if (transport->on_streams()) {
      state->stream_watch = stream_watch_;
      state->device = options_.device;
    }
  }
  if (options_.store && !roll_call_) roll_call_ = make_roll_call(options_.store);
  state->roll_call = roll_call_;
  if (roll_call_) roll_call_->enroll(state->spec, state->collectives);
  return Group(std::move(state));
}

Control& Communicators::control() {
  if (!control_) control_.emplace(make_control());
  return *control_;
}

// Blocks of neighbours, and a group of their first ranks; see control.h.
Control Communicators::make_control() {
  Transport* transport = control_transport_ ? control_transport_.get() : data_.get();
  const bool scales_itself = transport == nullptr || transport->name() != "gloo";
  const int block = scales_itself ? options_.world_size : options_.control_block;
  const int first = options_.rank / block * block;
  Group neighbours =
      make_group(transport, "control", range(first, std::min(first + block, options_.world_size)),
                 options_.control_listener);
  std::optional<Group> leaders;
  if (options_.world_size > block && options_.rank == first) {
    std::vector<int> ranks;
    for (int rank = 0; rank < options_.world_size; rank += block) ranks.push_back(rank);
    leaders = make_group(transport, "control leaders", ranks, options_.control_listener);
  }
  return {std::move(neighbours), std::move(leaders), options_.rank, options_.world_size, block,
          options_.board};
}

void Communicators::close_doors() {
  if (data_) data_->close_doors();
  if (control_transport_) control_transport_->close_doors();
}

void Communicators::fail() { job_->broken = true; }

bool Communicators::can_break_off() const { return data_ == nullptr || data_->can_break_off(); }

void Communicators::break_off() {
  job_->broken = true;
  if (data_) data_->break_off();
  if (control_transport_) control_transport_->break_off();
  job_->broken_off = true;
  job_->abort_transfers();
}

bool Communicators::is_broken_off() const { return job_->broken_off; }

bool Communicators::has_lost_a_connection() const {
  return data_ != nullptr && data_->has_lost_a_connection();
}

void Communicators::destroy_in_background(std::unique_ptr<Communicators> broken_off) {
  // These have ended, or end at once; what is left may wait.
  broken_off->reusable_.clear();
  broken_off->control_.reset();
  broken_off->job_->let_go();
  broken_off->roll_call_.reset();
  ++rounds_being_destroyed;
  std::thread([left = std::move(broken_off)]() mutable {
    left.reset();
    --rounds_being_destroyed;
  }).detach();
}

bool Communicators::are_being_destroyed() { return rounds_being_destroyed > 0; }

}  // namespace shoal::comm
