#include "shoal/feed/feed.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <ATen/Functions.h>

#include "shoal/core/activity.h"
#include "shoal/core/error.h"
#include "shoal/core/even_parts.h"
#include "shoal/model/functions/sent_to_device.h"

namespace shoal::feed {
namespace {

at::Tensor as_tensor(std::span<const std::byte> bytes, at::IntArrayRef sizes, at::ScalarType type) {
  return at::from_blob(const_cast<std::byte*>(bytes.data()), sizes, at::TensorOptions(type));
}

}  // namespace

// What the leader sends, in two calls: first how it went and how much follows, then that.
struct Feed::Message {
  enum Field { kFailed, kFirstSample, kLengths, kBytes, kFields };

  at::Tensor head = at::zeros({kFields}, at::kLong);
  at::Tensor body = at::empty({0}, at::kByte);

  int64_t& operator[](Field field) { return head.data_ptr<int64_t>()[field]; }

  char* make_room(int64_t bytes) {
    if (body.numel() < bytes) body = at::empty({bytes}, at::kByte);
    (*this)[kBytes] = bytes;
    return static_cast<char*>(body.data_ptr());
  }

  // Through the device of the group: NCCL sends nothing from the host's memory.
  void broadcast(comm::Group& peers, c10::Device device) {
    send(peers, head, device, "size of a batch");
    const int64_t bytes = (*this)[kBytes];
    make_room(bytes);
    at::Tensor used = body.narrow(0, 0, bytes);
    send(peers, used, device, "batch");
  }

 private:
  static void send(comm::Group& peers,
                   at::Tensor& tensor,
                   c10::Device device,
                   std::string_view what) {
    const at::Tensor there = tensor.to(device);
    peers.broadcast(there, 0, what).wait_host();
    if (!there.is_same(tensor)) tensor.copy_(there);
  }
};

Feed::Feed(std::shared_ptr<const data::SampleStream> stream,
           data::LoaderOptions loading,
           const FeedOptions& options)
    : options_(options),
      length_(stream->sequence_length()),
      has_loss_mask_(stream->has_loss_mask()),
      next_sample_(loading.first_sample),
      global_batch_(loading.global_batch),
      slice_begin_(even_part_begin(loading.global_batch,
                                   static_cast<uint64_t>(loading.rank),
                                   static_cast<uint64_t>(loading.world_size))) {
  if (options_.peers && options_.peers->size() > 1) message_ = std::make_unique<Message>();
  if (!message_ || options_.peers->rank() == 0)
    loader_ = std::make_unique<data::Loader>(std::move(stream), loading);
}

Feed::~Feed() = default;

TokenBatch Feed::next() {
  TokenBatch batch = message_ ? receive() : read_here();
  batch.tokens = model::sent_to_device(batch.tokens, options_.device);
  if (batch.loss_mask.defined())
    batch.loss_mask = model::sent_to_device(batch.loss_mask, options_.device);
  batch.first_row = batch.first_sample + slice_begin_;
  next_sample_ = batch.first_sample + global_batch_;
  return batch;
}

const data::Batch& Feed::loaded() {
  const Activity doing("waits for the loader");
  return loader_->next();
}

TokenBatch Feed::read_here() {
  const data::Batch& batch = loaded();
  const auto rows = static_cast<int64_t>(batch.rows);
  TokenBatch made{
      .first_sample = batch.first_sample,
      .tokens = as_tensor(std::as_bytes(batch.tokens), {rows, length_ + 1}, at::kInt),
      .document_lengths = {batch.document_lengths.begin(), batch.document_lengths.end()}};
  if (has_loss_mask_)
    made.loss_mask = as_tensor(std::as_bytes(batch.loss_mask), {rows, length_}, at::kByte);
  return made;
}

TokenBatch Feed::receive() {
  Message& message = *message_;
  if (loader_) {
    try {
      const data::Batch& batch = loaded();
      message[Message::kFailed] = 0;
      message[Message::kFirstSample] = static_cast<int64_t>(batch.first_sample);
      message[Message::kLengths] = static_cast<int64_t>(batch.document_lengths.size());
      const std::array parts = {std::as_bytes(batch.tokens), std::as_bytes(batch.loss_mask),
                                std::as_bytes(std::span(batch.document_lengths))};
      size_t bytes = 0;
      for (const auto& part : parts) bytes += part.size();
      char* to = message.make_room(static_cast<int64_t>(bytes));
      for (const auto& part : parts) {
        if (!part.empty()) std::memcpy(to, part.data(), part.size());
        to += part.size();
      }
    } catch (const DataError& error) {
      // Peers that heard nothing would wait for the deadline and then blame the leader.
      const std::string_view text = error.what();
      message[Message::kFailed] = 1;
      std::memcpy(message.make_room(static_cast<int64_t>(text.size())), text.data(), text.size());
    }
  }
  message.broadcast(*options_.peers, options_.device);
  const auto* from = static_cast<const std::byte*>(message.body.data_ptr());
  const int64_t bytes = message[Message::kBytes];
  if (message[Message::kFailed] != 0)
    throw DataError(std::string(reinterpret_cast<const char*>(from), static_cast<size_t>(bytes)));

  const int64_t lengths = message[Message::kLengths];
  const int64_t row_bytes = (length_ + 1) * 4 + (has_loss_mask_ ? length_ : 0);
  const int64_t rows = (bytes - lengths * 4) / row_bytes;
  SHOAL_CHECK(rows * row_bytes + lengths * 4 == bytes, "a batch of {} bytes with {} lengths", bytes,
              lengths);
  TokenBatch made{.first_sample = static_cast<uint64_t>(message[Message::kFirstSample])};
  const std::span all(from, static_cast<size_t>(bytes));
  made.tokens = as_tensor(all, {rows, length_ + 1}, at::kInt);
  const auto tokens = static_cast<size_t>(rows * (length_ + 1) * 4);
  if (has_loss_mask_) made.loss_mask = as_tensor(all.subspan(tokens), {rows, length_}, at::kByte);
  made.document_lengths.resize(static_cast<size_t>(lengths));
  const auto at_end = all.last(static_cast<size_t>(lengths) * 4);
  if (lengths > 0) std::memcpy(made.document_lengths.data(), at_end.data(), at_end.size());
  return made;
}

}  // namespace shoal::feed
