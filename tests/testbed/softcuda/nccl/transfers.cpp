#include "transfers.h"

#include <algorithm>
#include <cstring>

namespace softcuda {
namespace {

struct Progress {
  Transfer transfer;
  size_t done = 0;
  bool finished = false;
};

size_t next_bytes(const Progress& p) { return std::min(kBoxBytes, p.transfer.bytes - p.done); }

// Each moves what it can without waiting, at most one box.

bool try_send(Communicator& communicator, Progress& p) {
  Box& box = communicator.shared().box(communicator.rank(), p.transfer.peer);
  if (box.written != box.taken) return false;
  const size_t bytes = next_bytes(p);
  std::memcpy(box.data, p.transfer.data + p.done, bytes);
  box.bytes = bytes;
  ++box.written;
  p.done += bytes;
  return true;
}

bool try_receive(Communicator& communicator, Progress& p, size_t stream) {
  Box& box = communicator.shared().box(p.transfer.peer, communicator.rank());
  if (box.written == box.taken) return false;
  const size_t bytes = next_bytes(p);
  if (box.bytes != bytes) {
    communicator.fail(ncclInvalidUsage,
                      "mismatch on stream " + std::to_string(stream) + ": rank " +
                          std::to_string(communicator.rank()) + " calls ncclRecv of " +
                          std::to_string(bytes) + " more bytes, but rank " +
                          std::to_string(p.transfer.peer) + " sends " + std::to_string(box.bytes));
    return false;
  }
  std::memcpy(p.transfer.data + p.done, box.data, bytes);
  ++box.taken;
  p.done += bytes;
  return true;
}

// Moves everything as far as it goes now; true when all is done.
bool advance(Communicator& communicator, std::vector<Progress>& all, size_t stream) {
  std::vector<bool> busy(size_t(communicator.ranks()) * 2, false);
  bool finished = true;
  for (Progress& p : all) {
    if (p.finished) continue;
    finished = false;
    const size_t lane = size_t(p.transfer.peer) * 2 + (p.transfer.sends ? 1 : 0);
    if (busy[lane]) continue;
    bool moved = true;
    while (moved && !p.finished) {
      moved = p.transfer.sends ? try_send(communicator, p) : try_receive(communicator, p, stream);
      p.finished = moved && p.done >= p.transfer.bytes;
    }
    busy[lane] = !p.finished;
  }
  return finished;
}

}  // namespace

void run_transfers(Communicator& communicator,
                   const std::vector<Transfer>& transfers,
                   size_t stream) {
  std::vector<Progress> all;
  for (const Transfer& transfer : transfers) all.push_back({transfer});
  communicator.wait_until([&] { return advance(communicator, all, stream); });
}

}  // namespace softcuda
