#include "shoal/state/checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shoal/core/checksum.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/json_text.h"

namespace shoal::state {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxManifestBytes = size_t{1} << 30;

[[noreturn]] void throw_file_error(const char* verb, const fs::path& path) {
  const int error_number = errno;
  throw DataError(format("cannot {} {}: {}", verb, path.string(), describe_errno(error_number)));
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A file of tensors, opened when it is needed: a checkpoint of many ranks has more than a process may
// hold open. Read, not mapped: one that is cut short meanwhile is an error here, not the end.
class InputFile {
 public:
  InputFile(fs::path path, uint64_t bytes)
      : path_(std::move(path)),
        fd_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {
    if (!fd_.valid()) throw_file_error("open", path_);
    struct stat status {};
    if (::fstat(fd_.get(), &status) != 0) throw_file_error("inspect", path_);
    if (!S_ISREG(status.st_mode))
      throw DataError(format("{} is not a regular file", path_.string()));
    if (static_cast<uint64_t>(status.st_size) != bytes)
      throw DataError(
          format("{} has {} bytes, but {} were written", path_.string(), status.st_size, bytes));
  }

  void read_at(uint64_t at, std::span<std::byte> out) const {
    while (!out.empty()) {
      const ssize_t got = ::pread(fd_.get(), out.data(), out.size(), static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw_file_error("read", path_);
      if (got == 0) throw DataError(format("{} ends at {} now", path_.string(), at));
      at += static_cast<uint64_t>(got);
      out = out.subspan(static_cast<size_t>(got));
    }
  }

  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  UniqueFd fd_;
};

// The bytes of a piece in chunks whose checksums hold; the last one asked for is kept.
class PieceReader {
 public:
  PieceReader(const fs::path& directory,
              const DataFile& file,
              const TensorEntry& tensor,
              const PieceEntry& piece)
      : file_(directory / file.name, file.bytes),
        tensor_(tensor),
        piece_(piece),
        bytes_(piece_bytes(tensor, piece)) {}

  [[nodiscard]] std::span<const std::byte> chunk(uint64_t index) {
    if (index == held_) return buffer_;
    const uint64_t at = index * kChunkBytes;
    buffer_.resize(std::min(kChunkBytes, bytes_ - at));
    held_ = kNone;
    file_.read_at(piece_.at + at, buffer_);
    if (const uint32_t sum = crc32c(as_text(buffer_)); sum != piece_.crc32c[index]) {
      throw DataError(format(
          "{} is damaged: tensor {} {}, {} bytes at {}: crc32c is {:08x}, but {:08x} was written",
          file_.path().string(), json::in_quotes(tensor_.name), describe(piece_.box),
          buffer_.size(), piece_.at + at, sum, piece_.crc32c[index]));
    }
    held_ = index;
    return buffer_;
  }

  // Bytes from `from` of the piece on.
  void copy(uint64_t from, std::span<std::byte> out) {
    while (!out.empty()) {
      const std::span<const std::byte> rest = chunk(from / kChunkBytes).subspan(from % kChunkBytes);
      const size_t count = std::min(rest.size(), out.size());
      std::memcpy(out.data(), rest.data(), count);
      out = out.subspan(count);
      from += count;
    }
  }

 private:
  static constexpr uint64_t kNone = UINT64_MAX;

  InputFile file_;
  const TensorEntry& tensor_;
  const PieceEntry& piece_;
  uint64_t bytes_;
  uint64_t held_ = kNone;
  std::vector<std::byte> buffer_;
};

void verify_header(const fs::path& directory, const DataFile& file) {
  const InputFile input(directory / file.name, file.bytes);
  std::vector<std::byte> buffer;
  uint32_t sum = 0;
  for (uint64_t at = 0; at < file.header_bytes; at += buffer.size()) {
    buffer.resize(std::min(kChunkBytes, file.header_bytes - at));
    input.read_at(at, buffer);
    sum = crc32c(as_text(buffer), sum);
  }
  if (sum != file.header_crc32c)
    throw DataError(
        format("{} is damaged: the header in its first {} bytes is not what was written",
               input.path().string(), file.header_bytes));
}

}  // namespace

Checkpoint::Checkpoint(fs::path path) : path_(std::move(path)) {
  const fs::path name = path_ / kCheckpointManifest;
  manifest_ = manifest_from_json(read_file(name, kMaxManifestBytes), name.string());
  for (const DataFile& file : manifest_.parts.files) (void)InputFile(path_ / file.name, file.bytes);
}

const TensorEntry* Checkpoint::find(std::string_view name) const {
  const auto found = std::lower_bound(
      tensors().begin(), tensors().end(), name,
      [](const TensorEntry& tensor, std::string_view key) { return tensor.name < key; });
  return found == tensors().end() || found->name != name ? nullptr : &*found;
}

void Checkpoint::read(std::string_view name, std::span<std::byte> out) const {
  const TensorEntry* const tensor = find(name);
  read(name, tensor == nullptr ? Box{} : whole_of(tensor->shape), out);
}

void Checkpoint::read(std::string_view name, const Box& box, std::span<std::byte> out) const {
  const TensorEntry* const tensor = find(name);
  if (tensor == nullptr) throw DataError(format("{} has no tensor '{}'", path_.string(), name));
  SHOAL_CHECK(is_inside(box, tensor->shape), "{} of tensor '{}' does not lie in {}", describe(box),
              name, describe(tensor->shape));
  const uint64_t element = element_bytes(tensor->dtype);
  SHOAL_CHECK(out.size() == elements_of(box) * element, "{} bytes for {} of tensor '{}'",
              out.size(), describe(box), name);
  for (const PieceEntry& piece : tensor->pieces) {
    if (!intersection(piece.box, box)) continue;
    PieceReader reader(path_, files()[piece.file], *tensor, piece);
    for_each_run(piece.box, box, [&](const Run& run) {
      reader.copy(run.from * element, out.subspan(run.to * element, run.count * element));
    });
  }
}

Verified verify(const fs::path& path) {
  const Checkpoint checkpoint(path);
  Verified verified{.tensors = checkpoint.tensors().size()};
  for (const DataFile& file : checkpoint.files()) {
    verify_header(path, file);
    verified.bytes += file.bytes;
  }
  for (const TensorEntry& tensor : checkpoint.tensors()) {
    for (const PieceEntry& piece : tensor.pieces) {
      PieceReader reader(path, checkpoint.files()[piece.file], tensor, piece);
      for (uint64_t chunk = 0; chunk < piece.crc32c.size(); ++chunk) (void)reader.chunk(chunk);
      ++verified.pieces;
    }
  }
  return verified;
}

}  // namespace shoal::state
