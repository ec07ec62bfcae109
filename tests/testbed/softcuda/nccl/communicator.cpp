#include "communicator.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <thread>

#include <unistd.h>

#include "report.h"

namespace softcuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kYields = 100;  // before a wait begins to sleep
constexpr auto kSleep = std::chrono::microseconds(50);
constexpr auto kLook = std::chrono::milliseconds(50);

// SOFTCUDA_PEER_DEATH: after how many milliseconds a peer that died is an asynchronous error, or "silence": as between
// GPUs of one machine, where nobody notices.
std::chrono::milliseconds death_is_noticed_after() {
  static const std::chrono::milliseconds after = [] {
    const char* text = std::getenv("SOFTCUDA_PEER_DEATH");
    if (!text || !*text) return std::chrono::milliseconds(1000);
    if (std::string_view(text) == "silence") return std::chrono::milliseconds::max();
    return std::chrono::milliseconds(std::atol(text));
  }();
  return after;
}

// A process that nobody has waited for yet is dead as well.
bool is_dead(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return true;
  const size_t name_end = text.rfind(')');
  return name_end != std::string::npos && name_end + 2 < text.size() && text[name_end + 2] == 'Z';
}

}  // namespace

bool Communicator::open(const std::string& name, int rank, int ranks) {
  name_ = name;
  rank_ = rank;
  ranks_ = ranks;
  if (!shared_.open(name, ranks)) {
    fail(ncclSystemError, "there is no shared memory for the communicator");
    return false;
  }
  shared_.rank(rank).device = device_;
  shared_.rank(rank).process = getpid();
  ++shared_.joined();
  if (!wait_until([&] { return shared_.joined() >= ranks; })) return false;
  if (rank == 0) Shared::remove_name(name);
  for (int r = 0; r < ranks; ++r) {
    if (r == rank || shared_.rank(r).device != device_) continue;
    fail(ncclInvalidUsage, "Duplicate GPU detected : rank " + std::to_string(rank) + " and rank " +
                               std::to_string(r) + " both on CUDA device " +
                               std::to_string(device_));
    return false;
  }
  return true;
}

bool Communicator::wait_until(const std::function<bool()>& done) {
  auto next_look = Clock::now() + kLook;
  for (int i = 0; !done(); ++i) {
    if (aborted_) return false;
    if (i < kYields) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(kSleep);
    if (Clock::now() < next_look) continue;
    look_for_the_dead();
    next_look = Clock::now() + kLook;
  }
  return true;
}

void Communicator::look_for_the_dead() {
  if (state_ != ncclSuccess || death_is_noticed_after() == std::chrono::milliseconds::max()) return;
  if (shared_.joined() < ranks_) return;  // not everybody has said who they are
  for (int r = 0; r < ranks_; ++r) {
    if (!is_dead(shared_.rank(r).process)) continue;
    std::this_thread::sleep_for(death_is_noticed_after());
    fail(ncclRemoteError, "rank " + std::to_string(r) + " (process " +
                              std::to_string(shared_.rank(r).process) + ") is dead, and rank " +
                              std::to_string(rank_) + " waits for it");
    return;
  }
}

bool Communicator::host_wait(const std::function<bool()>& done) {
  const ncclResult_t before = state_;
  return wait_until([&] { return done() || state_ != before; }) && state_ == before;
}

bool Communicator::meet() {
  const uint64_t mine = ++meetings_;
  shared_.rank(rank_).arrived = mine;
  for (int r = 0; r < ranks_; ++r) {
    if (!wait_until([&] { return shared_.rank(r).arrived >= mine; })) return false;
  }
  return true;
}

bool Communicator::host_meet() {
  const uint64_t mine = ++host_meetings_;
  shared_.rank(rank_).host_arrived = mine;
  for (int r = 0; r < ranks_; ++r) {
    if (!host_wait([&] { return shared_.rank(r).host_arrived >= mine; })) return false;
  }
  return true;
}

bool Communicator::wait_for_split(uint64_t number) {
  return host_wait([&] { return splits_ended_ + 1 >= number; });
}

void Communicator::order_behind_last(cudaStream_t stream) {
  if (was_called_ && last_stream_ != stream) {
    cudaEvent_t over = nullptr;
    cudaEventCreateWithFlags(&over, cudaEventDisableTiming);
    cudaEventRecord(over, last_stream_);
    cudaStreamWaitEvent(stream, over, 0);
    cudaEventDestroy(over);
  }
  was_called_ = true;
  last_stream_ = stream;
}

void Communicator::fail(ncclResult_t error, const std::string& why) {
  std::lock_guard lock(mutex_);
  const ncclResult_t before = state_;
  if (before != ncclSuccess && before != ncclInProgress) return;
  error_ = why;
  // Whoever sees the state may end the process at once.
  report("communicator %s of rank %d is in error: %s", name_.c_str(), rank_, why.c_str());
  state_ = error;
}

std::string Communicator::error() const {
  std::lock_guard lock(mutex_);
  return error_;
}

ncclRedOp_t Communicator::add_factor(double factor) {
  std::lock_guard lock(mutex_);
  factors_.push_back(factor);
  return ncclRedOp_t(int(ncclNumOps) + int(factors_.size()) - 1);
}

double Communicator::factor_of(int operation) const {
  std::lock_guard lock(mutex_);
  return factors_.at(size_t(operation - int(ncclNumOps)));
}

}  // namespace softcuda
