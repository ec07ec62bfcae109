#include "shoal/checkpoint/staged_part.h"

#include <ATen/ATen.h>

#include "shoal/checkpoint/tensor_bytes.h"
#include "shoal/core/error.h"

namespace shoal::checkpoint {
namespace {

constexpr uint64_t kAlignment = 64;  // each tensor begins where copies are fast

uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

uint64_t room_for(const std::vector<HeldTensor>& tensors) {
  uint64_t bytes = 0;
  for (const HeldTensor& tensor : tensors) bytes += aligned(tensor.flat.nbytes());
  return bytes;
}

}  // namespace

void StagedPart::reserve(const std::vector<HeldTensor>& tensors) {
  const uint64_t bytes = room_for(tensors);
  if (memory_.defined() && memory_.nbytes() >= bytes) return;
  memory_ = at::Tensor();  // not both at a time
  const bool from_device = !tensors.empty() && !tensors.front().flat.is_cpu();
  memory_ = at::zeros({static_cast<int64_t>(bytes)},
                      at::TensorOptions().dtype(at::kByte).pinned_memory(from_device));
}

void StagedPart::take(const std::vector<HeldTensor>& tensors) {
  reserve(tensors);
  specs_.clear();
  offsets_.clear();
  uint64_t begin = 0;
  for (const HeldTensor& tensor : tensors) {
    const at::ScalarType type = tensor.flat.scalar_type();
    const int64_t elements = tensor.flat.numel();
    const auto bytes = static_cast<int64_t>(tensor.flat.nbytes());
    if (elements > 0)
      memory_.narrow(0, static_cast<int64_t>(begin), bytes)
          .view(type)
          .copy_(tensor.flat.reshape({elements}));
    const uint64_t element = tensor.flat.element_size();
    for (const state::BoxOfRange& box : tensor.boxes) {
      specs_.push_back({{tensor.name, disk_type(type), tensor.shape}, box.box});
      offsets_.push_back(begin + static_cast<uint64_t>(box.offset) * element);
    }
    begin += aligned(static_cast<uint64_t>(bytes));
  }
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
