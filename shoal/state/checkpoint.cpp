#include "shoal/state/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>

#include "shoal/core/checksum.h"
#include "shoal/core/error.h"
#include "shoal/core/few_threads.h"
#include "shoal/core/files.h"
#include "shoal/core/json_text.h"
#include "shoal/state/input_file.h"

namespace shoal::state {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxManifestBytes = size_t{1} << 30;

// The bytes of a piece in chunks whose checksums hold.
class PieceReader {
 public:
  PieceReader(const InputFile& file,
              const TensorSpec& tensor,
              const Box& box,
              uint64_t at,
              std::span<const uint32_t> crc32c)
      : file_(file),
        tensor_(tensor),
        box_(box),
        at_(at),
        bytes_(elements_of(box) * element_bytes(tensor.dtype)),
        sums_(crc32c) {}

  [[nodiscard]] uint64_t chunk_bytes(uint64_t index) const {
    return std::min(kChunkBytes, bytes_ - index * kChunkBytes);
  }

  void read_chunk(uint64_t index, std::span<std::byte> out) const {
    const uint64_t at = at_ + index * kChunkBytes;
    file_.read_at(at, out);
    if (const uint32_t sum = crc32c(out); sum != sums_[index]) {
      throw DataError(format(
          "{} is damaged: tensor {} {}, {} bytes at {}: crc32c is {:08x}, but {:08x} was written",
          file_.path().string(), json::in_quotes(tensor_.name), describe(box_), out.size(), at, sum,
          sums_[index]));
    }
  }

  // Bytes from `from` of the piece on. Whole chunks go straight to where they are wanted; of others the last one
  // is kept, for the next row that has a part in it.
  void copy(uint64_t from, std::span<std::byte> out) {
    while (!out.empty()) {
      const uint64_t index = from / kChunkBytes;
      const uint64_t offset = from % kChunkBytes;
      size_t count = chunk_bytes(index);
      if (offset == 0 && out.size() >= count && index != held_) {
        read_chunk(index, out.first(count));
      } else {
        hold(index);
        count = std::min<size_t>(count - offset, out.size());
        std::memcpy(out.data(), buffer_.data() + offset, count);
      }
      out = out.subspan(count);
      from += count;
    }
  }

 private:
  static constexpr uint64_t kNone = UINT64_MAX;

  void hold(uint64_t index) {
    if (index == held_) return;
    held_ = kNone;
    buffer_.resize(chunk_bytes(index));
    read_chunk(index, buffer_);
    held_ = index;
  }

  const InputFile& file_;
  const TensorSpec& tensor_;
  const Box& box_;
  uint64_t at_;
  uint64_t bytes_;
  std::span<const uint32_t> sums_;
  uint64_t held_ = kNone;
  std::vector<std::byte> buffer_;
};

std::string header_of(const InputFile& input, const DataFile& file) {
  std::string header(file.header_bytes, '\0');
  input.read_at(0, std::as_writable_bytes(std::span(header)));
  return header;
}

size_t step_of(const FileShare& share, size_t files) {
  return std::max(share.step, (files - 1) / share.most + 1);
}

// Files that are read from: pieces of one rank lie in one, and those that follow each other are read together.
class OpenFiles {
 public:
  std::shared_ptr<const InputFile> open(const fs::path& directory, const DataFile& file) {
    const std::lock_guard lock(mutex_);
    if (files_.size() >= kMost) files_.clear();  // those in use live on
    std::shared_ptr<const InputFile>& found = files_[&file];
    if (!found) found = std::make_shared<const InputFile>(directory / file.name, file.bytes);
    return found;
  }

 private:
  static constexpr size_t kMost = 64;

  std::mutex mutex_;
  std::map<const DataFile*, std::shared_ptr<const InputFile>> files_;
};

// `piece` as a part of `box`.
Box relative_to(const Box& box, Box piece) {
  for (size_t dim = 0; dim < box.begin.size(); ++dim) piece.begin[dim] -= box.begin[dim];
  return piece;
}

// Headers of a large job take seconds to understand.
PieceIndex read_whole_index(const Checkpoint& checkpoint) {
  constexpr size_t kFewFiles = 64;
  const size_t shares = checkpoint.files().size() < kFewFiles ? 1 : 8;
  std::vector<PieceIndex> indices(shares, PieceIndex(checkpoint.manifest()));
  for_each_by_few_threads(shares, shares, [&](size_t i) {
    indices[i] = checkpoint.read_index({.first = i, .step = shares});
  });
  for (size_t i = 1; i < shares; ++i) indices[0].add(indices[i]);
  return std::move(indices[0]);
}

}  // namespace

CheckpointManifest read_manifest(const fs::path& path) {
  const fs::path name = path / kCheckpointManifest;
  std::error_code ignored;
  if (fs::is_symlink(name, ignored))
    throw DataError(format("{} is a symbolic link, which is not followed", name.string()));
  return manifest_from_json(read_file(name, kMaxManifestBytes), name.string());
}

struct Checkpoint::Parts {
  fs::path path;
  CheckpointManifest manifest;
  std::once_flag once;
  std::optional<PieceIndex> index;
  OpenFiles open_files;
};

Checkpoint::~Checkpoint() = default;
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;

Checkpoint::Checkpoint(const fs::path& path, const FileShare& looked_at)
    : Checkpoint(path, read_manifest(path), looked_at) {}

Checkpoint::Checkpoint(fs::path path, CheckpointManifest manifest, const FileShare& looked_at)
    : parts_(std::make_unique<Parts>()) {
  parts_->path = std::move(path);
  parts_->manifest = std::move(manifest);
  for (size_t i = looked_at.first; i < files().size(); i += step_of(looked_at, files().size()))
    (void)InputFile(parts_->path / files()[i].name, files()[i].bytes);
}

const fs::path& Checkpoint::path() const { return parts_->path; }
const CheckpointManifest& Checkpoint::manifest() const { return parts_->manifest; }

const TensorSpec* Checkpoint::find(std::string_view name) const {
  const auto found = std::lower_bound(
      tensors().begin(), tensors().end(), name,
      [](const TensorSpec& tensor, std::string_view key) { return tensor.name < key; });
  return found == tensors().end() || found->name != name ? nullptr : &*found;
}

PieceIndex Checkpoint::read_index(const FileShare& share) const {
  PieceIndex index(manifest());
  for (size_t i = share.first; i < files().size(); i += step_of(share, files().size())) {
    const InputFile input(path() / files()[i].name, files()[i].bytes);
    index.add_file(i, header_of(input, files()[i]), input.path().string());
  }
  return index;
}

void Checkpoint::use_index(PieceIndex index) {
  std::call_once(parts_->once, [&] {
    index.sort();
    parts_->index.emplace(std::move(index));
  });
}

const PieceIndex& Checkpoint::index() const {
  std::call_once(parts_->once, [&] {
    PieceIndex index = read_whole_index(*this);
    index.sort();
    parts_->index.emplace(std::move(index));
  });
  return *parts_->index;
}

void Checkpoint::read(std::string_view name, std::span<std::byte> out) const {
  const TensorSpec* const tensor = find(name);
  read(name, tensor == nullptr ? Box{} : whole_of(tensor->shape), out);
}

void Checkpoint::read(std::string_view name, const Box& box, std::span<std::byte> out) const {
  const TensorSpec* const tensor = find(name);
  if (tensor == nullptr) throw DataError(format("{} has no tensor '{}'", path().string(), name));
  SHOAL_CHECK(is_inside(box, tensor->shape), "{} of tensor '{}' does not lie in {}", describe(box),
              name, describe(tensor->shape));
  const uint64_t element = element_bytes(tensor->dtype);
  SHOAL_CHECK(out.size() == elements_of(box) * element, "{} bytes for {} of tensor '{}'",
              out.size(), describe(box), name);
  if (out.empty()) return;

  std::vector<std::pair<PieceIndex::Place, Box>> pieces;
  std::vector<Box> found;
  index().for_each(static_cast<size_t>(tensor - tensors().data()), box,
                   [&](const PieceIndex::Place& place, const Box& piece) {
                     pieces.emplace_back(place, piece);
                     found.push_back(relative_to(box, *intersection(piece, box)));
                   });
  if (!tiles(box.extent, found))
    throw DataError(
        format("{}: the pieces of tensor {} do not cover {} of its shape {} exactly once",
               path().string(), json::in_quotes(name), describe(box), describe(tensor->shape)));
  for (const auto& [place, piece] : pieces) {
    const auto input = parts_->open_files.open(path(), files()[place.file]);
    PieceReader reader(*input, *tensor, piece, place.at, place.crc32c);
    for_each_run(piece, box, [&](const ElementRun& run) {
      reader.copy(run.from * element, out.subspan(run.to * element, run.count * element));
    });
  }
}

namespace {

void verify_coverage(const Checkpoint& checkpoint) {
  for (size_t i = 0; i < checkpoint.tensors().size(); ++i) {
    const TensorSpec& tensor = checkpoint.tensors()[i];
    std::vector<Box> boxes;
    checkpoint.index().for_each(
        i, [&](const PieceIndex::Place&, const Box& piece) { boxes.push_back(piece); });
    if (!tiles(tensor.shape, boxes))
      throw DataError(
          format("{}: the {} pieces of tensor {} do not cover its shape {} exactly once",
                 checkpoint.path().string(), boxes.size(), json::in_quotes(tensor.name),
                 describe(tensor.shape)));
  }
}

}  // namespace

Verified verify(const fs::path& path) {
  Progress unseen;
  return verify(path, unseen);
}

Verified verify(const fs::path& path, Progress& progress) {
  const Checkpoint checkpoint(path);
  for (const DataFile& file : checkpoint.files()) progress.total += file.bytes;
  verify_coverage(checkpoint);
  Verified verified{.tensors = checkpoint.tensors().size()};
  std::vector<std::byte> buffer;
  for (const DataFile& file : checkpoint.files()) {
    const InputFile input(path / file.name, file.bytes);
    const std::string name = input.path().string();
    verified.bytes += file.header_bytes;
    for (const PieceInFile& piece :
         read_part_header(header_of(input, file), file.bytes, checkpoint.manifest().id, name)) {
      const PieceReader reader(input, piece, piece.box, piece.at, piece.crc32c);
      for (uint64_t chunk = 0; chunk < piece.crc32c.size(); ++chunk) {
        buffer.resize(reader.chunk_bytes(chunk));
        reader.read_chunk(chunk, buffer);
        verified.bytes += buffer.size();
        progress.done = verified.bytes;
      }
      ++verified.pieces;
    }
  }
  return verified;
}

}  // namespace shoal::state
