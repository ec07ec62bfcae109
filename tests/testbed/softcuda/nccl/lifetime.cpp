// NCCL's calls that make, split, end and describe communicators.
//
// Communicators are never freed: a task that is still queued may name one, as may the thread of a call that does not
// block.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include <nccl.h>

#include "communicator.h"

namespace softcuda {
namespace {

std::string text_of(const ncclUniqueId& id) {
  return {id.internal, strnlen(id.internal, sizeof id.internal)};
}

// Runs `make` now, or beside the caller when the configuration says that calls do not block. The state tells the rest.
ncclResult_t begin(Communicator* communicator,
                   const ncclConfig_t* configuration,
                   const std::function<bool()>& make) {
  int device = 0;
  cudaGetDevice(&device);
  communicator->set_device(device);
  const auto finish = [communicator, make] {
    if (make()) communicator->set_state(ncclSuccess);
    // An abort ends the making of a communicator without a reason of its own.
    else if (communicator->state() == ncclInProgress)
      communicator->set_state(ncclInternalError);
  };
  communicator->set_state(ncclInProgress);
  if (configuration && configuration->blocking == 0) {
    std::thread(finish).detach();
    return ncclInProgress;
  }
  finish();
  return communicator->state();
}

// Collective over the parent, also for ranks without a colour. The child's name and rank follow from what all said.
bool split(Communicator* parent, Communicator* child, uint64_t number, int color, int key) {
  if (!parent->wait_for_split(number)) return false;
  const Shared& shared = parent->shared();
  shared.rank(parent->rank()).color = color;
  shared.rank(parent->rank()).key = key;
  if (!parent->host_meet()) return false;
  std::vector<std::pair<int, int>> members;  // key and the parent's rank, which decide the order
  for (int r = 0; r < parent->ranks(); ++r) {
    if (shared.rank(r).color == color) members.emplace_back(shared.rank(r).key, r);
  }
  std::sort(members.begin(), members.end());
  const bool met = parent->host_meet();
  parent->end_split();
  if (!met) return false;
  if (color == NCCL_SPLIT_NOCOLOR) return true;
  const auto mine = std::find_if(members.begin(), members.end(), [&](const auto& member) {
    return member.second == parent->rank();
  });
  const std::string name =
      parent->name() + "-" + std::to_string(number) + "." + std::to_string(color);
  return child->open(name, int(mine - members.begin()), int(members.size()));
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::random_device random;
  *id = {};
  std::snprintf(id->internal, sizeof id->internal, "/softnccl-%08x%08x", random(), random());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(
    ncclComm_t* out, int ranks, ncclUniqueId id, int rank, ncclConfig_t* configuration) {
  if (ranks < 1 || ranks > kMostRanks || rank < 0 || rank >= ranks) return ncclInvalidArgument;
  auto* made = new Communicator;
  *out = reinterpret_cast<ncclComm_t>(made);
  return begin(made, configuration, [=] { return made->open(text_of(id), rank, ranks); });
}

ncclResult_t ncclCommInitRank(ncclComm_t* out, int ranks, ncclUniqueId id, int rank) {
  return ncclCommInitRankConfig(out, ranks, id, rank, nullptr);
}

ncclResult_t ncclCommInitRankScalable(
    ncclComm_t* out, int ranks, int rank, int, ncclUniqueId* ids, ncclConfig_t* configuration) {
  return ncclCommInitRankConfig(out, ranks, ids[0], rank, configuration);
}

ncclResult_t ncclCommSplit(
    ncclComm_t from, int color, int key, ncclComm_t* out, ncclConfig_t* configuration) {
  Communicator* parent = communicator_of(from);
  if (parent->state() != ncclSuccess) return parent->state();
  auto* child = new Communicator;
  *out = color == NCCL_SPLIT_NOCOLOR ? nullptr : reinterpret_cast<ncclComm_t>(child);
  const uint64_t number = parent->next_split();
  const ncclResult_t begun =
      begin(child, configuration, [=] { return split(parent, child, number, color, key); });
  // The error of the parent is the reason when the ranks did not meet.
  return begun == ncclInternalError && parent->state() != ncclSuccess ? parent->state() : begun;
}

ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }
ncclResult_t ncclCommDestroy(ncclComm_t) { return ncclSuccess; }

ncclResult_t ncclCommAbort(ncclComm_t c) {
  if (c) communicator_of(c)->abort();
  return ncclSuccess;
}

ncclResult_t ncclCommRevoke(ncclComm_t c, int) { return ncclCommAbort(c); }

ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t* error) {
  *error = communicator_of(c)->state();
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t c, int* count) {
  *count = communicator_of(c)->ranks();
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t c, int* rank) {
  *rank = communicator_of(c)->rank();
  return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t c, int* device) {
  *device = communicator_of(c)->device();
  return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t, void*, size_t, void** handle) {
  *handle = nullptr;
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t, void*) { return ncclSuccess; }

ncclResult_t ncclMemAlloc(void** p, size_t bytes) {
  return cudaMalloc(p, bytes) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclMemFree(void* p) {
  return cudaFree(p) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
      return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    default:
      return "unknown result code";
  }
}

const char* ncclGetLastError(ncclComm_t c) {
  thread_local std::string text;
  text = c ? communicator_of(c)->error() : std::string();
  return text.c_str();
}
