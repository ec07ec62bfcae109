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

[[noreturn]] void throw_file_error(const char* verb, const fs::path& path) {
  const int error_number = errno;
  throw DataError(format("cannot {} {}: {}", verb, path.string(), describe_errno(error_number)));
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

UncommittedCheckpoint::UncommittedCheckpoint(fs::path root, uint64_t step)
    : root_(std::move(root)),
      step_(step),
      id_(new_checkpoint_id()),
      directory_(unfinished_directory(root_, step)) {}

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
  // What cannot be read must not replace what can. Of many files a few: each rank has synced its own.
  constexpr size_t kLookedAt = 64;
  (void)Checkpoint(directory_, {.step = manifest.files.size() / kLookedAt + 1});

  fs::path path = root_ / step_directory(step_);
  const fs::path replaced = give_name(directory_, path);
  committed_ = true;
  sync_directory(root_);
  std::error_code ignored;  // a leftover that no reader looks at
  fs::remove_all(replaced, ignored);
  return path;
}

}  // namespace shoal::state
