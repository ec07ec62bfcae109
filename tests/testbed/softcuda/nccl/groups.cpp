#include "groups.h"

#include <memory>
#include <vector>

#include "collectives.h"
#include "report.h"
#include "softcuda.h"
#include "transfers.h"
#include "types.h"

namespace softcuda {
namespace {

thread_local int depth = 0;
thread_local std::vector<Operation> pending;

struct Batch {
  Communicator* communicator;
  size_t stream;
  std::vector<Operation> operations;
};

size_t bytes_of(const Operation& operation) {
  return operation.agreement.count * width_of(operation.agreement.type);
}

const char* name_of(const Operation& operation) {
  if (!operation.is_transfer) return name_of(operation.agreement.function);
  return operation.sends ? "ncclSend" : "ncclRecv";
}

void run_batch(void* data) {
  const std::unique_ptr<Batch> batch(static_cast<Batch*>(data));
  std::vector<Transfer> transfers;
  for (const Operation& operation : batch->operations) {
    const auto* from = static_cast<const char*>(softcudaInside(operation.from));
    auto* to = static_cast<char*>(softcudaInside(operation.to));
    if (operation.is_transfer) {
      char* buffer = operation.sends ? const_cast<char*>(from) : to;
      transfers.push_back({operation.sends, operation.peer, buffer, bytes_of(operation)});
    } else {
      run_collective(*batch->communicator, operation.agreement, from, to, batch->stream);
    }
  }
  if (!transfers.empty()) run_transfers(*batch->communicator, transfers, batch->stream);
}

void discard_batch(void* data) { delete static_cast<Batch*>(data); }

void add_ranges(const Operation& operation, std::vector<SoftcudaRange>& ranges) {
  const size_t bytes = bytes_of(operation);
  Extent extent{operation.sends ? size_t(1) : 0, operation.sends ? 0 : size_t(1)};
  if (!operation.is_transfer) {
    const Communicator& c = *operation.communicator;
    extent = extent_of(operation.agreement, c.rank(), c.ranks());
  }
  if (extent.read) ranges.push_back({operation.from, bytes * extent.read, 0, "the send buffer"});
  if (extent.written)
    ranges.push_back({operation.to, bytes * extent.written, 1, "the receive buffer"});
}

ncclResult_t launch(std::unique_ptr<Batch> batch, cudaStream_t stream) {
  std::vector<SoftcudaRange> ranges;
  for (const Operation& operation : batch->operations) add_ranges(operation, ranges);
  const char* name = name_of(batch->operations.front());
  softcudaCountLaunches("nccl", 1);
  const cudaError_t error = softcudaLaunch(stream, name, ranges.data(), ranges.size(), run_batch,
                                           discard_batch, batch.release());
  return error == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t flush() {
  std::vector<Operation> operations = std::move(pending);
  pending.clear();
  ncclResult_t result = ncclSuccess;
  while (!operations.empty()) {
    auto batch = std::make_unique<Batch>();
    batch->communicator = operations.front().communicator;
    const cudaStream_t stream = operations.front().stream;
    batch->stream = softcudaStreamNumber(stream);
    std::vector<Operation> rest;
    for (const Operation& operation : operations) {
      const bool same = operation.communicator == batch->communicator && operation.stream == stream;
      (same ? batch->operations : rest).push_back(operation);
    }
    batch->communicator->order_behind_last(stream);
    const ncclResult_t one = launch(std::move(batch), stream);
    if (one != ncclSuccess) result = one;
    operations = std::move(rest);
  }
  return result;
}

// NCCL finds a wrong buffer when its kernel reads it; here the call is refused.
bool is_on_device(const void* p, const Operation& operation, const char* operand) {
  const int device = operation.communicator->device();
  cudaPointerAttributes attributes;
  if (cudaPointerGetAttributes(&attributes, p) == cudaSuccess &&
      attributes.type == cudaMemoryTypeDevice && attributes.device == device) {
    return true;
  }
  report("%s of rank %d on stream %zu has %s that is not memory of GPU %d", name_of(operation),
         operation.communicator->rank(), softcudaStreamNumber(operation.stream), operand, device);
  return false;
}

}  // namespace

ncclResult_t add(const Operation& operation) {
  Communicator& communicator = *operation.communicator;
  if (communicator.state() != ncclSuccess) return communicator.state();
  std::vector<SoftcudaRange> ranges;
  add_ranges(operation, ranges);
  for (const SoftcudaRange& range : ranges) {
    if (range.bytes && !is_on_device(range.begin, operation, range.operand)) {
      return ncclInvalidArgument;
    }
  }
  softcudaCountCollective(name_of(operation), bytes_of(operation));
  pending.push_back(operation);
  return depth > 0 ? ncclSuccess : flush();
}

void open_group() { ++depth; }

ncclResult_t close_group() {
  if (depth == 0) return ncclInvalidUsage;
  return --depth == 0 ? flush() : ncclSuccess;
}

}  // namespace softcuda
