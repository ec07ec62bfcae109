#include "shoal/data/loader/loader.h"

#include <algorithm>
#include <new>
#include <optional>

#include "shoal/core/error.h"
#include "shoal/core/even_parts.h"

namespace shoal::data {
namespace {

// The first of the samples of a step that are rank's: as even as whole samples can be.
uint64_t slice_begin(uint64_t global_batch, int rank, int world_size) {
  return even_part_begin(global_batch, static_cast<uint64_t>(rank),
                         static_cast<uint64_t>(world_size));
}

std::shared_ptr<std::byte[]> allocate(size_t bytes) {
  constexpr std::align_val_t kAlignment{64};
  auto* memory = static_cast<std::byte*>(::operator new(bytes, kAlignment));
  return {memory, [](std::byte* old) { ::operator delete(old, kAlignment); }};
}

}  // namespace

Loader::Loader(std::shared_ptr<const SampleStream> stream, const LoaderOptions& options)
    : stream_(std::move(stream)), options_(options) {
  if (options.global_batch < static_cast<uint64_t>(options.world_size)) {
    throw UsageError(format("a global batch of {} samples leaves some of {} ranks without any",
                            options.global_batch, options.world_size));
  }
  const size_t rows = slice_begin(options.global_batch, options.rank + 1, options.world_size) -
                      slice_begin(options.global_batch, options.rank, options.world_size);
  const size_t length = stream_->sequence_length();
  const size_t tokens = rows * (length + 1);
  const size_t masked = stream_->has_loss_mask() ? rows * length : 0;
  slots_.resize(static_cast<size_t>(std::max(options.ahead, options.threads)) + 1);
  for (Slot& slot : slots_) {
    slot.memory = allocate(tokens * sizeof(int32_t) + masked);
    slot.batch.rows = rows;
    slot.batch.tokens = {reinterpret_cast<int32_t*>(slot.memory.get()), tokens};
    slot.batch.loss_mask = {
        reinterpret_cast<uint8_t*>(slot.memory.get() + tokens * sizeof(int32_t)), masked};
    slot.batch.document_lengths.reserve(rows * length);  // never more, so it never grows
  }
  for (int thread = 0; thread < options.threads; ++thread)
    threads_.emplace_back([this] { work(); });
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  freed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

// The batch of step s is in slot s modulo their number. A slot may be filled anew when what it holds is
// older than the batch in use, which is the last that was handed out.
void Loader::work() {
  std::optional<ActivityBoard::Seat> seat;
  if (options_.board != nullptr) seat.emplace(*options_.board, "loader");
  std::unique_lock lock(mutex_);
  while (true) {
    freed_.wait(lock, [this] {
      const uint64_t in_use = std::max<uint64_t>(1, handed_out_) - 1;
      return stop_ || next_to_fill_ < in_use + slots_.size();
    });
    if (stop_) return;
    const uint64_t step = next_to_fill_++;
    Slot& slot = slots_[step % slots_.size()];
    lock.unlock();
    std::exception_ptr error;
    try {
      fill(slot, step);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    slot.error = error;
    slot.ready_for = step + 1;
    filled_.notify_one();
    if (error) return;
  }
}

void Loader::fill(Slot& slot, uint64_t step) const {
  Batch& batch = slot.batch;
  const size_t length = stream_->sequence_length();
  const size_t masked = batch.loss_mask.empty() ? 0 : length;
  batch.first_sample = options_.first_sample + step * options_.global_batch;
  batch.document_lengths.clear();
  const uint64_t first =
      batch.first_sample + slice_begin(options_.global_batch, options_.rank, options_.world_size);
  for (size_t row = 0; row < batch.rows; ++row) {
    stream_->read(first + row, {.tokens = batch.tokens.subspan(row * (length + 1), length + 1),
                                .loss_mask = batch.loss_mask.subspan(row * masked, masked),
                                .document_lengths = batch.document_lengths});
  }
}

const Batch& Loader::next() {
  std::unique_lock lock(mutex_);
  Slot& slot = slots_[handed_out_ % slots_.size()];
  filled_.wait(lock, [&] { return slot.ready_for == handed_out_ + 1; });
  if (slot.error) std::rethrow_exception(slot.error);  // and again, if asked again
  ++handed_out_;
  freed_.notify_all();
  return slot.batch;
}

uint64_t Loader::next_sample() const {
  const std::lock_guard lock(mutex_);
  return options_.first_sample + handed_out_ * options_.global_batch;
}

}  // namespace shoal::data
