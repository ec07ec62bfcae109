// NCCL's calls that move data.
#include <nccl.h>

#include "groups.h"
#include "types.h"

namespace softcuda {
namespace {

struct Buffers {
  const void* from;
  void* to;
};

ncclResult_t collective(const Agreement& agreement, Buffers buffers, ncclComm_t c, cudaStream_t s) {
  return add({.communicator = communicator_of(c),
              .stream = s,
              .agreement = agreement,
              .from = buffers.from,
              .to = buffers.to});
}

ncclResult_t transfer(bool sends,
                      Buffers buffers,
                      const Agreement& agreement,
                      int peer,
                      ncclComm_t c,
                      cudaStream_t s) {
  if (peer < 0 || peer >= communicator_of(c)->ranks()) return ncclInvalidArgument;
  return add({.communicator = communicator_of(c),
              .stream = s,
              .agreement = agreement,
              .from = buffers.from,
              .to = buffers.to,
              .is_transfer = true,
              .sends = sends,
              .peer = peer});
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;

ncclResult_t ncclAllReduce(const void* from,
                           void* to,
                           size_t count,
                           ncclDataType_t type,
                           ncclRedOp_t operation,
                           ncclComm_t c,
                           cudaStream_t s) {
  return collective({Function::kAllReduce, type, operation, 0, count}, {from, to}, c, s);
}

ncclResult_t ncclAllGather(
    const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t c, cudaStream_t s) {
  return collective({Function::kAllGather, type, 0, 0, count}, {from, to}, c, s);
}

ncclResult_t ncclReduceScatter(const void* from,
                               void* to,
                               size_t count,
                               ncclDataType_t type,
                               ncclRedOp_t operation,
                               ncclComm_t c,
                               cudaStream_t s) {
  return collective({Function::kReduceScatter, type, operation, 0, count}, {from, to}, c, s);
}

ncclResult_t ncclBroadcast(const void* from,
                           void* to,
                           size_t count,
                           ncclDataType_t type,
                           int root,
                           ncclComm_t c,
                           cudaStream_t s) {
  return collective({Function::kBroadcast, type, 0, root, count}, {from, to}, c, s);
}

ncclResult_t ncclBcast(
    void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t c, cudaStream_t s) {
  return ncclBroadcast(buffer, buffer, count, type, root, c, s);
}

ncclResult_t ncclReduce(const void* from,
                        void* to,
                        size_t count,
                        ncclDataType_t type,
                        ncclRedOp_t operation,
                        int root,
                        ncclComm_t c,
                        cudaStream_t s) {
  return collective({Function::kReduce, type, operation, root, count}, {from, to}, c, s);
}

ncclResult_t ncclAlltoAll(
    const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t c, cudaStream_t s) {
  return collective({Function::kAllToAll, type, 0, 0, count}, {from, to}, c, s);
}

ncclResult_t ncclGather(const void* from,
                        void* to,
                        size_t count,
                        ncclDataType_t type,
                        int root,
                        ncclComm_t c,
                        cudaStream_t s) {
  return collective({Function::kGather, type, 0, root, count}, {from, to}, c, s);
}

ncclResult_t ncclScatter(const void* from,
                         void* to,
                         size_t count,
                         ncclDataType_t type,
                         int root,
                         ncclComm_t c,
                         cudaStream_t s) {
  return collective({Function::kScatter, type, 0, root, count}, {from, to}, c, s);
}

ncclResult_t ncclSend(
    const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t c, cudaStream_t s) {
  return transfer(true, {from, nullptr}, {Function::kNone, type, 0, 0, count}, peer, c, s);
}

ncclResult_t ncclRecv(
    void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t c, cudaStream_t s) {
  return transfer(false, {nullptr, to}, {Function::kNone, type, 0, 0, count}, peer, c, s);
}

ncclResult_t ncclGroupStart() {
  open_group();
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() { return close_group(); }

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* operation,
                                      void* factor,
                                      ncclDataType_t type,
                                      ncclScalarResidence_t,
                                      ncclComm_t c) {
  double value = 0;
  switch (type) {
    case ncclFloat32:
      value = *static_cast<float*>(factor);
      break;
    case ncclFloat64:
      value = *static_cast<double*>(factor);
      break;
    case ncclFloat16:
      value = double(*static_cast<Float16*>(factor));
      break;
    case ncclBfloat16:
      value = float(*static_cast<Bfloat16*>(factor));
      break;
    default:
      return ncclInvalidArgument;
  }
  *operation = communicator_of(c)->add_factor(value);
  return ncclSuccess;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t, ncclComm_t) { return ncclSuccess; }
