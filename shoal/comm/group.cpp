#include "shoal/comm/group.h"

#include <new>
#include <numeric>

#include "shoal/comm/flight.h"
#include "shoal/comm/group_state.h"
#include "shoal/comm/reduction.h"
#include "shoal/core/error.h"

namespace shoal::comm {
namespace {

using Tensors = std::vector<at::Tensor>;

void check_tensor(const at::Tensor& tensor, std::string_view what) {
  SHOAL_CHECK(tensor.defined(), "'{}' was given an undefined tensor", what);
  SHOAL_CHECK(tensor.is_contiguous(), "'{}' was given a tensor that is not contiguous", what);
  const at::ScalarType type = tensor.scalar_type();
  const bool known = type == at::kDouble || type == at::kFloat || type == at::kBFloat16 ||
                     type == at::kHalf || type == at::kLong || type == at::kByte;
  SHOAL_CHECK(known,
              "'{}' was given {}, but only double, float, bfloat16, half, int64 and uint8 are sent",
              what, c10::toString(type));
}

void check_reducible(const at::Tensor& tensor, Reduce op, std::string_view what) {
  check_tensor(tensor, what);
  SHOAL_CHECK(tensor.scalar_type() != at::kByte, "'{}' would reduce uint8, which would overflow",
              what);
  SHOAL_CHECK(op != Reduce::kAvg || at::isFloatingType(tensor.scalar_type()),
              "'{}' would average {}, which has no fractions: sum it and divide", what,
              c10::toString(tensor.scalar_type()));
}

void check_same_type(const at::Tensor& a, const at::Tensor& b, std::string_view what) {
  check_tensor(a, what);
  check_tensor(b, what);
  SHOAL_CHECK(a.scalar_type() == b.scalar_type(), "'{}' mixes {} and {}", what,
              c10::toString(a.scalar_type()), c10::toString(b.scalar_type()));
}

void check_parts(const at::Tensor& whole, const at::Tensor& part, int size, std::string_view what) {
  check_same_type(whole, part, what);
  SHOAL_CHECK(whole.numel() == part.numel() * size, "'{}': {} elements are not {} parts of {}",
              what, whole.numel(), size, part.numel());
}

void check_position(int position, int size, std::string_view what) {
  SHOAL_CHECK(position >= 0 && position < size, "'{}' names member {} of a group of {}", what,
              position, size);
}

// `whole` as one flat view per rank, without copying.
Tensors parts_of(const at::Tensor& whole, int size) {
  const int64_t part = whole.numel() / size;
  const at::Tensor flat = whole.view(-1);
  Tensors parts;
  parts.reserve(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i) parts.push_back(flat.narrow(0, i * part, part));
  return parts;
}

Call announce(GroupState& state, Op op, std::string_view what, int64_t bytes, int peer = -1) {
  Call call;
  call.op = op;
  call.what = what;
  call.group = state.spec.name;
  call.group_size = state.spec.size();
  call.peer = peer;
  call.bytes = bytes;
  call.sequence = *state.collectives;
  call.number = state.calls++;
  if (op != Op::kSend && op != Op::kRecv) ++*state.collectives;
  if (CallListener* const listener = *state.listener) listener->on_call(call);
  return call;
}

bool says(const std::exception& error, std::string_view word) {
  return std::string_view(error.what()).find(word) != std::string_view::npos;
}

// NCCL's errors have one type. What it calls invalid is a fault of ours, and memory is no better
// after another start.
ExitCode exit_code_of(const c10::DistError& error) {
  if (says(error, "out of memory")) return ExitCode::kData;
  if (says(error, "invalid usage") || says(error, "invalid argument")) return ExitCode::kBug;
  return ExitCode::kRequeue;
}

// What it means that a call cannot be started. Only what the network said is a peer's; memory that is not there, and
// tensors that a backend cannot take, would be no better after another start.
[[noreturn]] void throw_not_started(const GroupState& state, const Call& call) {
  const auto text = [&](const std::exception& error) {
    return format("rank {}: {} '{}' on {} cannot start: {}", state.world_rank, op_name(call.op),
                  call.what, call.group, first_line(error));
  };
  try {
    throw;
  } catch (const Error&) {
    throw;
  } catch (const c10::DistError& error) {
    if (exit_code_of(error) == ExitCode::kRequeue) state.sign_off();
    throw Error(exit_code_of(error), text(error));
  } catch (const std::bad_alloc& error) {
    throw Error(ExitCode::kData, text(error));
  } catch (const c10::OutOfMemoryError& error) {
    throw Error(ExitCode::kData, text(error));
  } catch (const c10::Error& error) {
    const bool memory = says(error, "allocate");
    throw Error(memory ? ExitCode::kData : ExitCode::kBug, text(error));
  } catch (const std::exception& error) {  // Gloo's and MPI's own
    state.sign_off();
    throw PeerLost(text(error));
  }
}

// Hands the call to the backend. `start` gets the tensors as c10d wants them: by reference, in a
// vector.
template <class Start>
Pending launch(const std::shared_ptr<GroupState>& state, Call call, Tensors tensors, Start start) {
  auto flight = std::make_unique<Flight>();
  flight->state = state;
  flight->tensors = std::move(tensors);
  try {
    start(*state->backend, *flight);
  } catch (...) {
    state->fail();
    throw_not_started(*state, call);
  }
  flight->call = std::move(call);
  if (*state->listener != nullptr && state->spec.size() > 1)
    flight->end.emplace(*state, flight->call, flight->works);
  return Pending(std::move(flight));
}

}  // namespace

int Group::rank() const { return state_->spec.rank; }

int Group::size() const { return state_->spec.size(); }

const std::string& Group::name() const { return state_->spec.name; }

const std::vector<int>& Group::ranks() const { return state_->spec.ranks; }

std::string_view Group::backend() const { return state_->backend_name; }

Pending Group::all_reduce(at::Tensor inout, Reduce op, std::string_view what) {
  check_reducible(inout, op, what);
  Call call = announce(*state_, Op::kAllReduce, what, bytes_of(inout));
  if (inout.numel() == 0) return {};
  return launch(state_, std::move(call), {std::move(inout)},
                [op](c10d::Backend& backend, Flight& flight) {
                  c10d::AllreduceOptions options;
                  options.reduceOp = to_c10d(op);
                  flight.works.push_back(backend.allreduce(flight.tensors, options));
                });
}

Pending Group::reduce(at::Tensor inout, Reduce op, int root, std::string_view what) {
  check_reducible(inout, op, what);
  check_position(root, size(), what);
  Call call = announce(*state_, Op::kReduce, what, bytes_of(inout), root);
  if (inout.numel() == 0) return {};
  return launch(state_, std::move(call), {std::move(inout)},
                [op, root](c10d::Backend& backend, Flight& flight) {
                  c10d::ReduceOptions options;
                  options.reduceOp = to_c10d(op);
                  options.rootRank = root;
                  flight.works.push_back(backend.reduce(flight.tensors, options));
                });
}

Pending Group::broadcast(at::Tensor inout, int root, std::string_view what) {
  check_tensor(inout, what);
  check_position(root, size(), what);
  Call call = announce(*state_, Op::kBroadcast, what, bytes_of(inout), root);
  if (inout.numel() == 0) return {};
  return launch(state_, std::move(call), {std::move(inout)},
                [root](c10d::Backend& backend, Flight& flight) {
                  c10d::BroadcastOptions options;
                  options.rootRank = root;
                  flight.works.push_back(backend.broadcast(flight.tensors, options));
                });
}

Pending Group::all_gather(at::Tensor out, at::Tensor shard, std::string_view what) {
  check_parts(out, shard, size(), what);
  Call call = announce(*state_, Op::kAllGather, what, bytes_of(out));
  if (out.numel() == 0) return {};
  return launch(
      state_, std::move(call), {std::move(out), std::move(shard)},
      [](c10d::Backend& backend, Flight& flight) {
        flight.works.push_back(backend.all_gather_single(flight.tensors[0], flight.tensors[1]));
      });
}

Pending Group::gather(at::Tensor out, at::Tensor shard, int root, std::string_view what) {
  check_position(root, size(), what);
  if (rank() == root) check_parts(out, shard, size(), what);
  check_tensor(shard, what);
  Call call = announce(*state_, Op::kGather, what, bytes_of(shard) * size(), root);
  if (shard.numel() == 0) return {};
  return launch(state_, std::move(call), {std::move(shard), std::move(out)},
                [this, root](c10d::Backend& backend, Flight& flight) {
                  c10d::GatherOptions options;
                  options.rootRank = root;
                  std::vector<Tensors> outputs;
                  if (rank() == root) outputs.push_back(parts_of(flight.tensors[1], size()));
                  Tensors inputs = {flight.tensors[0]};
                  flight.works.push_back(backend.gather(outputs, inputs, options));
                });
}

Pending Group::scatter(at::Tensor shard, at::Tensor in, int root, std::string_view what) {
  check_position(root, size(), what);
  if (rank() == root) check_parts(in, shard, size(), what);
  check_tensor(shard, what);
  Call call = announce(*state_, Op::kScatter, what, bytes_of(shard) * size(), root);
  if (shard.numel() == 0) return {};
  return launch(state_, std::move(call), {std::move(shard), std::move(in)},
                [this, root](c10d::Backend& backend, Flight& flight) {
                  c10d::ScatterOptions options;
                  options.rootRank = root;
                  std::vector<Tensors> inputs;
                  if (rank() == root) inputs.push_back(parts_of(flight.tensors[1], size()));
                  Tensors outputs = {flight.tensors[0]};
                  flight.works.push_back(backend.scatter(outputs, inputs, options));
                });
}

Pending Group::reduce_scatter(at::Tensor shard, at::Tensor in, Reduce op, std::string_view what) {
  check_parts(in, shard, size(), what);
  check_reducible(in, op, what);
  Call call = announce(*state_, Op::kReduceScatter, what, bytes_of(in));
  if (in.numel() == 0) return {};
  return launch(state_, std::move(call), {std::move(shard), std::move(in)},
                [op](c10d::Backend& backend, Flight& flight) {
                  c10d::ReduceScatterOptions options;
                  options.reduceOp = to_c10d(op);
                  flight.works.push_back(
                      backend.reduce_scatter_single(flight.tensors[0], flight.tensors[1], options));
                });
}

Pending Group::all_to_all(const at::Tensor& out,
                          const at::Tensor& in,
                          const Splits& splits,
                          std::string_view what) {
  check_same_type(out, in, what);
  const auto check_splits = [&](const std::vector<int64_t>& counts, const at::Tensor& tensor) {
    if (counts.empty()) {
      SHOAL_CHECK(tensor.numel() % size() == 0, "'{}': {} elements are not {} equal parts", what,
                  tensor.numel(), size());
      return;
    }
    const int64_t sum = std::accumulate(counts.begin(), counts.end(), int64_t{0});
    SHOAL_CHECK(counts.size() == static_cast<size_t>(size()) && sum == tensor.numel(),
                "'{}': {} counts with the sum {} for {} ranks and {} elements", what, counts.size(),
                sum, size(), tensor.numel());
  };
  check_splits(splits.out, out);
  check_splits(splits.in, in);
  Call call = announce(*state_, Op::kAllToAll, what, std::max(bytes_of(in), bytes_of(out)));
  return launch(state_, std::move(call), {out.view(-1), in.view(-1)},
                [&splits](c10d::Backend& backend, Flight& flight) {
                  std::vector<int64_t> out_counts = splits.out;
                  std::vector<int64_t> in_counts = splits.in;
                  flight.works.push_back(backend.all_to_all_single(
                      flight.tensors[0], flight.tensors[1], out_counts, in_counts));
                });
}

Pending Group::send(at::Tensor tensor, int to, int tag, std::string_view what) {
  return exchange({{Transfer::Way::kSend, std::move(tensor), to, tag}}, what);
}

Pending Group::recv(at::Tensor tensor, int from, int tag, std::string_view what) {
  return exchange({{Transfer::Way::kRecv, std::move(tensor), from, tag}}, what);
}

Pending Group::exchange(const std::vector<Transfer>& transfers, std::string_view what) {
  Call call;
  for (const Transfer& transfer : transfers) {
    check_tensor(transfer.tensor, what);
    check_position(transfer.peer, size(), what);
    SHOAL_CHECK(transfer.peer != rank(), "'{}' would send to itself", what);
    SHOAL_CHECK(transfer.tag >= 0 && transfer.tag <= kMaxTag, "'{}': tag {} is not in 0..{}", what,
                transfer.tag, kMaxTag);
    const bool sends = transfer.way == Transfer::Way::kSend;
    call = announce(*state_, sends ? Op::kSend : Op::kRecv, what, bytes_of(transfer.tensor),
                    transfer.peer);
  }
  if (transfers.empty()) return {};
  Tensors tensors;
  for (const Transfer& transfer : transfers) tensors.push_back(transfer.tensor);
  return launch(state_, std::move(call), std::move(tensors),
                [&transfers](c10d::Backend& backend, Flight& flight) {
                  const bool fuse = transfers.size() > 1 && backend.supportsCoalescing();
                  if (fuse) backend.startCoalescing();
                  for (const Transfer& transfer : transfers) {
                    if (transfer.tensor.numel() == 0) continue;
                    Tensors one = {transfer.tensor};
                    flight.works.push_back(transfer.way == Transfer::Way::kSend
                                               ? backend.send(one, transfer.peer, transfer.tag)
                                               : backend.recv(one, transfer.peer, transfer.tag));
                  }
                  if (fuse) flight.works = {backend.endCoalescing()};
                });
}

Pending Group::barrier(std::string_view what) {
  Call call = announce(*state_, Op::kBarrier, what, 0);
  return launch(state_, std::move(call), {}, [](c10d::Backend& backend, Flight& flight) {
    flight.works.push_back(backend.barrier());
  });
}

Pending Group::all_reduce(const Tensors& inout, Reduce op, std::string_view what) {
  for (const at::Tensor& tensor : inout) {
    check_reducible(tensor, op, what);
    SHOAL_CHECK(tensor.scalar_type() == inout.front().scalar_type(), "'{}' mixes types in one call",
                what);
  }
  Call call = announce(*state_, Op::kAllReduce, what, bytes_of(inout));
  if (bytes_of(inout) == 0) return {};
  return launch(state_, std::move(call), inout, [op](c10d::Backend& backend, Flight& flight) {
    c10d::AllreduceCoalescedOptions options;
    options.reduceOp = to_c10d(op);
    flight.works.push_back(backend.allreduce_coalesced(flight.tensors, options));
  });
}

Pending Group::all_gather(const Tensors& out, const Tensors& shards, std::string_view what) {
  SHOAL_CHECK(out.size() == shards.size(), "'{}': {} outputs for {} shards", what, out.size(),
              shards.size());
  for (size_t i = 0; i < out.size(); ++i) check_parts(out[i], shards[i], size(), what);
  Call call = announce(*state_, Op::kAllGather, what, bytes_of(out));
  if (bytes_of(out) == 0) return {};
  return launch(state_, std::move(call), out, [&shards](c10d::Backend& backend, Flight& flight) {
    Tensors outputs = flight.tensors;
    Tensors inputs = shards;
    flight.tensors.insert(flight.tensors.end(), shards.begin(), shards.end());
    flight.works.push_back(backend.all_gather_single_coalesced(outputs, inputs));
  });
}

Pending Group::reduce_scatter(const Tensors& shards,
                              const Tensors& in,
                              Reduce op,
                              std::string_view what) {
  SHOAL_CHECK(in.size() == shards.size(), "'{}': {} inputs for {} shards", what, in.size(),
              shards.size());
  for (size_t i = 0; i < in.size(); ++i) {
    check_parts(in[i], shards[i], size(), what);
    check_reducible(in[i], op, what);
  }
  Call call = announce(*state_, Op::kReduceScatter, what, bytes_of(in));
  if (bytes_of(in) == 0) return {};
  return launch(state_, std::move(call), in, [&shards, op](c10d::Backend& backend, Flight& flight) {
    c10d::ReduceScatterOptions options;
    options.reduceOp = to_c10d(op);
    Tensors inputs = flight.tensors;
    Tensors outputs = shards;
    flight.tensors.insert(flight.tensors.end(), shards.begin(), shards.end());
    flight.works.push_back(backend.reduce_scatter_single_coalesced(outputs, inputs, options));
  });
}

}  // namespace shoal::comm
