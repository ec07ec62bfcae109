#include "shoal/checkpoint/staged_part.h"

#include <algorithm>
#include <cstring>

#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "shoal/checkpoint/tensor_bytes.h"
#include "shoal/core/few_threads.h"

namespace shoal::checkpoint {
namespace {

constexpr uint64_t kAlignment = 64;  // alignment of tensors, for fast copies

uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

uint64_t room_for(const std::vector<HeldTensor>& tensors) {
  uint64_t bytes = 0;
  for (const HeldTensor& tensor : tensors) bytes += aligned(tensor.flat.nbytes());
  return bytes;
}

// A pending copy of consecutive bytes.
struct Copy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  size_t bytes = 0;
};

// Adds copies in parts, for several threads.
void add_copies(std::span<const std::byte> from,
                std::span<std::byte> to,
                std::vector<Copy>& copies) {
  constexpr size_t kMostBytes = size_t{16} << 20;
  for (size_t at = 0; at < from.size(); at += kMostBytes)
    copies.push_back({&to[at], &from[at], std::min(kMostBytes, from.size() - at)});
}

// Runs copies on threads of our own: libtorch's threads wait for each other, which takes longer
// than the copy on a busy host.
void make(const std::vector<Copy>& copies) {
  constexpr size_t kMostThreads = 4;
  for_each_by_few_threads(copies.size(), kMostThreads, [&](size_t i) {
    std::memcpy(copies[i].to, copies[i].from, copies[i].bytes);
  });
}

// Waits for the copies of a device's current stream.
void wait_for(c10::Device device) {
  if (device.is_cpu()) return;
  c10::Event copied(device.type());
  copied.record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
  copied.synchronize();
}

}  // namespace

void StagedPart::reserve(const std::vector<HeldTensor>& tensors) {
  const uint64_t bytes = room_for(tensors);
  if (memory_.defined() && memory_.nbytes() >= bytes) return;
  memory_ = at::Tensor();  // frees the old memory before the new is allocated
  const bool from_device = !tensors.empty() && !tensors.front().flat.is_cpu();
  memory_ = at::zeros({static_cast<int64_t>(bytes)},
                      at::TensorOptions().dtype(at::kByte).pinned_memory(from_device));
}

void StagedPart::take(const std::vector<HeldTensor>& tensors) {
  reserve(tensors);
  specs_.clear();
  offsets_.clear();
  uint64_t begin = 0;
  std::vector<Copy> copies;
  for (const HeldTensor& tensor : tensors) {
    const at::ScalarType type = tensor.flat.scalar_type();
    const auto bytes = static_cast<int64_t>(tensor.flat.nbytes());
    const at::Tensor room = memory_.narrow(0, static_cast<int64_t>(begin), bytes);
    if (tensor.flat.is_cpu() && tensor.flat.is_contiguous())
      add_copies(bytes_of(tensor.flat), writable_bytes_of(room), copies);
    else
      room.view(type).copy_(tensor.flat.reshape({tensor.flat.numel()}), /*non_blocking=*/true);
    const uint64_t element = tensor.flat.element_size();
    for (const BoxOfRange& box : tensor.boxes) {
      specs_.push_back({{tensor.name, disk_type(type), tensor.shape}, box.box});
      offsets_.push_back(begin + static_cast<uint64_t>(box.offset) * element);
    }
    begin += aligned(static_cast<uint64_t>(bytes));
  }
  make(copies);
  if (!tensors.empty()) wait_for(tensors.front().flat.device());
}

std::span<const std::byte> StagedPart::bytes(size_t piece) const {
  return bytes_of(memory_).subspan(offsets_[piece], state::piece_bytes(specs_[piece]));
}

uint64_t StagedPart::all_bytes() const {
  uint64_t bytes = 0;
  for (const state::PieceSpec& spec : specs_) bytes += state::piece_bytes(spec);
  return bytes;
}

}  // namespace shoal::checkpoint
