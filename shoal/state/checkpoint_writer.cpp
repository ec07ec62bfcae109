#include "shoal/state/checkpoint_writer.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shoal/core/checksum.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/json_text.h"
#include "shoal/state/checkpoint.h"
#include "shoal/state/safetensors.h"

namespace shoal::state {
namespace {

namespace fs = std::filesystem;

// A safetensors header stands first and is known last. So many bytes are left for it; when they are
// used up, the rank goes on in another file.
constexpr size_t kHeaderBytes = size_t{64} << 10;
constexpr unsigned kDirectoryMode = 0750;

[[noreturn]] void throw_file_error(const char* verb, const fs::path& path) {
  const int error_number = errno;
  throw DataError(format("cannot {} {}: {}", verb, path.string(), describe_errno(error_number)));
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// As other programs find the piece in its file.
TensorSpec spec_in_file(const Piece& piece) {
  const bool is_whole = piece.box == whole_of(piece.global_shape);
  return {piece.name + (is_whole ? "" : describe(piece.box)), piece.dtype, piece.box.extent};
}

// At most what the entry of this tensor takes in a header.
size_t entry_bytes(const TensorSpec& spec) {
  constexpr size_t kAroundIt = 128;  // keys, type and two offsets of up to 15 digits
  return json::in_quotes(spec.name).size() + kAroundIt + 16 * spec.shape.size();
}

fs::path unfinished_directory(const fs::path& root, uint64_t step) {
  SHOAL_CHECK(step <= kMaxStep, "step {} has no name", step);
  std::error_code error;
  if (fs::create_directories(root, error)) sync_directory(fs::absolute(root).parent_path());
  if (error) throw DataError(format("cannot create {}: {}", root.string(), error.message()));
  std::string name = (root / (step_directory(step) + ".tmp-XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr) throw_file_error("create", name);
  if (::chmod(name.c_str(), kDirectoryMode) != 0) {
    const int error_number = errno;
    (void)::rmdir(name.c_str());
    errno = error_number;
    throw_file_error("set the mode of", name);
  }
  return name;
}

// Gives `written` the name `path`. A directory that has it is there again under the name that is
// left: `written`, or returned where the file system cannot exchange two names in one step.
fs::path give_name(const fs::path& written, const fs::path& path) {
  if (::rename(written.c_str(), path.c_str()) == 0) return written;
  if (errno != EEXIST && errno != ENOTEMPTY) throw_file_error("replace", path);
  if (::renameat2(AT_FDCWD, written.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0)
    return written;
  if (errno != EINVAL && errno != ENOSYS) throw_file_error("replace", path);
  fs::path aside = written.string() + "-replaced";
  if (::rename(path.c_str(), aside.c_str()) != 0) throw_file_error("move away", path);
  if (::rename(written.c_str(), path.c_str()) != 0) {
    const int error_number = errno;
    (void)::rename(aside.c_str(), path.c_str());
    errno = error_number;
    throw_file_error("replace", path);
  }
  return aside;
}

}  // namespace

std::string step_directory(uint64_t step) { return format("step-{:09}", step); }

PartWriter::PartWriter(fs::path directory, int rank)
    : directory_(std::move(directory)), rank_(rank) {}

void PartWriter::open_file() {
  files_.push_back({.name = format("rank-{:05}-{:05}.safetensors", rank_, files_.size())});
  file_.emplace(directory_ / files_.back().name);
  in_file_.clear();
  header_used_ = 2 * sizeof(uint64_t);
  end_ = kHeaderBytes;
}

void PartWriter::close_file() {
  const std::string header = safetensors_header(in_file_, {}, kHeaderBytes);
  SHOAL_CHECK(header.size() == kHeaderBytes, "a header of {} bytes", header.size());
  file_->write_at(0, header);
  file_->close();
  file_.reset();
  DataFile& file = files_.back();
  file.bytes = end_;
  file.header_bytes = header.size();
  file.header_crc32c = crc32c(header);
}

TensorEntry& PartWriter::entry_of(const Piece& piece) {
  const TensorSpec spec{piece.name, piece.dtype, piece.global_shape};
  SHOAL_CHECK(is_tensor_name(spec.name), "'{}' is no name for a tensor", spec.name);
  const uint64_t all_bytes = tensor_bytes(spec.dtype, spec.shape);
  SHOAL_CHECK(is_inside(piece.box, spec.shape), "{} of tensor '{}' does not lie in {}",
              describe(piece.box), spec.name, describe(spec.shape));
  const uint64_t bytes = elements_of(piece.box) * element_bytes(spec.dtype);
  SHOAL_CHECK(bytes == piece.bytes.size() && bytes <= all_bytes,
              "{} of tensor '{}' has {} bytes, not {}", describe(piece.box), spec.name, bytes,
              piece.bytes.size());
  TensorEntry& entry = tensors_.try_emplace(spec.name, TensorEntry{spec, {}}).first->second;
  SHOAL_CHECK(TensorSpec(entry) == spec, "tensor '{}' is {} {} and then {} {}", spec.name,
              dtype_name(entry.dtype), describe(entry.shape), dtype_name(spec.dtype),
              describe(spec.shape));
  return entry;
}

void PartWriter::add(const Piece& piece) {
  TensorEntry& entry = entry_of(piece);
  if (piece.bytes.empty()) return;
  TensorSpec spec = spec_in_file(piece);
  if (file_ && header_used_ + entry_bytes(spec) > kHeaderBytes) close_file();
  if (!file_) open_file();
  header_used_ += entry_bytes(spec);
  in_file_.push_back(std::move(spec));

  PieceEntry written{.file = files_.size() - 1, .at = end_, .box = piece.box};
  for (std::span<const std::byte> rest = piece.bytes; !rest.empty();) {
    const std::span<const std::byte> chunk = rest.first(std::min(rest.size(), kChunkBytes));
    written.crc32c.push_back(crc32c(as_text(chunk)));
    file_->write_at(end_, chunk);
    end_ += chunk.size();
    rest = rest.subspan(chunk.size());
  }
  entry.pieces.push_back(std::move(written));
}

PartList PartWriter::finish() {
  if (file_) close_file();
  PartList list{.files = std::move(files_)};
  for (auto& [name, tensor] : tensors_) list.tensors.push_back(std::move(tensor));
  return list;
}

CheckpointWriter::CheckpointWriter(fs::path root, uint64_t step)
    : root_(std::move(root)),
      step_(step),
      directory_(unfinished_directory(root_, step)),
      part_(directory_, 0) {}

CheckpointWriter::~CheckpointWriter() {
  if (committed_) return;
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

fs::path CheckpointWriter::commit(const Values& values, std::vector<PartList> others) {
  others.insert(others.begin(), part_.finish());
  const CheckpointManifest manifest{.step = step_, .values = values, .parts = joined(others)};
  check_complete(manifest.parts);
  OutputFile file(directory_ / kCheckpointManifest);
  file.write_at(0, to_json(manifest));
  file.close();
  sync_directory(directory_);
  (void)Checkpoint(directory_);  // what cannot be read must not replace what can

  fs::path path = root_ / step_directory(step_);
  const fs::path replaced = give_name(directory_, path);
  committed_ = true;
  sync_directory(root_);
  std::error_code ignored;  // a leftover that no reader looks at
  fs::remove_all(replaced, ignored);
  return path;
}

}  // namespace shoal::state
