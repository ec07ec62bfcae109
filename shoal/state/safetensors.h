// safetensors.h -- the file format of model weights: untrusted files are checked, and writing
// matches the safetensors library.
//
//   const Safetensors file("model.safetensors");
//   const TensorInfo* norm = file.find("model.norm.weight");
//   file.bytes(*norm)                                // a view into the mapped file
//
//   SafetensorsWriter writer("model.safetensors", {{"a", DType::kF32, {2, 3}}}, {{"format", "pt"}});
//   writer.write("a", bytes);                        // in any order, in as many calls as one likes
//   writer.finish();                                 // now the file is there, whole
//
// A file is 8 bytes of length, so many bytes of JSON, and the tensors without a gap. Everything is
// checked before the first tensor can be seen: lengths, duplicate names, places that overlap, leave
// holes or do not fit the shape. What two readers could understand differently is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/core/mapped_file.h"
#include "shoal/state/output_file.h"
#include "shoal/state/tensor_spec.h"

namespace shoal::state {

struct TensorInfo : TensorSpec {
  uint64_t at = 0;  // offset in the file
  uint64_t bytes = 0;
};

using Metadata = std::map<std::string, std::string>;

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  // in the order of their places in the file
  Metadata metadata;
};

// Returns the header of a file of `file_bytes` bytes; `front` are its first bytes, the whole header
// among them. A DataError begins with `name`.
SafetensorsHeader read_safetensors_header(std::string_view front,
                                          uint64_t file_bytes,
                                          const std::string& name);

class Safetensors {
 public:
  explicit Safetensors(const std::filesystem::path& path);

  [[nodiscard]] const std::vector<TensorInfo>& tensors() const { return header_.tensors; }
  [[nodiscard]] const Metadata& metadata() const { return header_.metadata; }

  // Returns nullptr when there is no tensor of that name.
  [[nodiscard]] const TensorInfo* find(std::string_view name) const;

  // Returns the bytes of a tensor. In files of other writers they may not be aligned to the
  // element: copy, do not cast. Valid as long as this object, also when it is moved.
  [[nodiscard]] std::span<const std::byte> bytes(const TensorInfo& tensor) const;

  // Releases the memory of a tensor that is not needed soon again: reading one tensor after the
  // other then keeps only one in memory.
  void release(const TensorInfo& tensor) const;

 private:
  MappedFile file_;
  SafetensorsHeader header_;
  std::vector<size_t> by_name_;
};

// Returns the header for these tensors: length and JSON, padded with spaces to a multiple of
// `alignment` bytes, itself a multiple of 8. The tensors lie in the order given.
std::string safetensors_header(const std::vector<TensorSpec>& tensors,
                               const Metadata& metadata,
                               size_t alignment = 8);

// Writes a file; the same tensors and bytes always give the same one. It gets its name in finish();
// without that nothing stays behind.
class SafetensorsWriter {
 public:
  SafetensorsWriter(std::filesystem::path path,
                    std::vector<TensorSpec> tensors,
                    const Metadata& metadata = {});
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;
  ~SafetensorsWriter();

  // Appends the next bytes of a tensor.
  void write(std::string_view name, std::span<const std::byte> bytes);

  // Completes the file; all tensors must have all their bytes.
  void finish();

 private:
  struct Place {
    uint64_t next = 0;
    uint64_t end = 0;
  };

  std::filesystem::path path_;
  OutputFile file_;
  std::map<std::string, Place, std::less<>> places_;
  bool finished_ = false;
};

}  // namespace shoal::state
