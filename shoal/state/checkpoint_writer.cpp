#include "shoal/state/checkpoint_writer.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/state/checkpoint.h"
#include "shoal/state/output_file.h"

namespace shoal::state {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kDirectoryMode = 0750;

// With its parents, each of them on the disk.
void make_directories(const fs::path& path) {
  if (path.empty() || fs::is_directory(path)) return;
  make_directories(path.parent_path());
  if (::mkdir(path.c_str(), kDirectoryMode) == 0)
    sync_directory(path.parent_path());
  else if (errno != EEXIST)
    throw_file_error("create", path);
}

// The id makes the name one that no other writer has.
fs::path unfinished_directory(const fs::path& root, uint64_t step, const std::string& id) {
  SHOAL_CHECK(step <= kMaxStep, "step {} has no name", step);
  make_directories(fs::absolute(root).lexically_normal());
  fs::path path = root / format("{}.tmp-{}", step_directory(step), id.substr(0, 8));
  if (::mkdir(path.c_str(), kDirectoryMode) != 0) throw_file_error("create", path);
  return path;
}

// Gives `written` the name `path`. A directory that has it is there again under the name that is
// left: `written`, or returned where the file system cannot exchange two names in one step.
fs::path give_name(const fs::path& written, const fs::path& path) {
  if (::rename(written.c_str(), path.c_str()) == 0) return written;
  if (errno != EEXIST && errno != ENOTEMPTY) throw_file_error("replace", path);
  if (::renameat2(AT_FDCWD, written.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0)
    return written;
  if (errno != EINVAL && errno != ENOSYS) throw_file_error("replace", path);
  fs::path aside = written.string() + kReplacedMark;
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

UncommittedCheckpoint::UncommittedCheckpoint(fs::path root, uint64_t step)
    : root_(std::move(root)),
      step_(step),
      id_(new_checkpoint_id()),
      directory_(unfinished_directory(root_, step, id_)) {}

UncommittedCheckpoint::~UncommittedCheckpoint() {
  if (committed_) return;
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

fs::path UncommittedCheckpoint::commit(const Values& values,
                                       const std::vector<PartReport>& reports) {
  Joined joined = join(reports);
  const CheckpointManifest manifest{.id = id_,
                                    .step = step_,
                                    .values = values,
                                    .files = std::move(joined.files),
                                    .tensors = std::move(joined.tensors)};
  OutputFile file(directory_ / kCheckpointManifest);
  file.write_at(0, to_json(manifest));
  file.close();
  sync_directory(directory_);
  // A checkpoint that cannot be read must not replace one that can. A few of many files are enough:
  // each rank has synced its own.
  (void)Checkpoint(directory_, kSomeFiles).read_index(kSomeFiles);

  fs::path path = root_ / step_directory(step_);
  const fs::path replaced = give_name(directory_, path);
  committed_ = true;
  sync_directory(root_);
  std::error_code ignored;  // a leftover that no reader looks at
  fs::remove_all(replaced, ignored);
  return path;
}

}  // namespace shoal::state
