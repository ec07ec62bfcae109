#include "shoal/prepare/rank_lock.h"

#include <cerrno>
#include <thread>

#include <fcntl.h>

#include "shoal/core/error.h"
#include "shoal/core/log.h"
#include "shoal/core/quantities.h"

namespace shoal::prepare {
namespace {

namespace fs = std::filesystem;

constexpr Duration kTimeToDie = std::chrono::seconds(2);

struct flock bytes_of(int64_t begin, int64_t count) {
  struct flock bytes {};
  bytes.l_type = F_WRLCK;
  bytes.l_whence = SEEK_SET;
  bytes.l_start = begin;
  bytes.l_len = count;
  return bytes;
}

// The locks of open files: those of processes would end when any descriptor of the file is closed.
int call(int fd, int command, struct flock& bytes) {
  int result = 0;
  do result = ::fcntl(fd, command, &bytes);
  while (result != 0 && errno == EINTR);
  return result;
}

bool is_locked(int fd, struct flock bytes) {
  return call(fd, F_OFD_GETLK, bytes) == 0 && bytes.l_type != F_UNLCK;
}

enum class Answer { kMine, kOfAnother, kOtherNumber, kNoLocks };

Answer ask(int fd, const fs::path& path, int64_t rank, int64_t world_size) {
  const int64_t begin = world_size * (world_size - 1) / 2;  // behind those of fewer ranks
  struct flock mine = bytes_of(begin + rank, 1);
  if (call(fd, F_OFD_SETLK, mine) != 0) {
    if (errno == EAGAIN || errno == EACCES) return Answer::kOfAnother;
    if (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP || errno == EINVAL)
      return Answer::kNoLocks;
    throw_file_error("lock", path);
  }
  // Mine first, then theirs: of two that do so at once, one at least sees the other.
  const bool fewer = begin > 0 && is_locked(fd, bytes_of(0, begin));
  const bool more = is_locked(fd, bytes_of(begin + world_size, 0));  // 0: all that follow
  return fewer || more ? Answer::kOtherNumber : Answer::kMine;
}

}  // namespace

RankLock::RankLock(const fs::path& directory, int rank, int world_size) {
  const fs::path path = directory / "preparation.lock";
  fd_ = UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode));
  if (!fd_.valid()) throw_file_error("open", path);
  const Clock::time_point until = Clock::now() + kTimeToDie;
  Answer answer = ask(fd_.get(), path, rank, world_size);
  while (answer == Answer::kOfAnother || answer == Answer::kOtherNumber) {
    if (Clock::now() >= until) {
      throw UsageError(format(
          "another process prepares {} {}: wait for its end, or end it (`fuser {}` on its "
          "host names it); when there is none on any host, remove {}",
          directory.string(),
          answer == Answer::kOfAnother ? format("as rank {} of {}", rank, world_size)
                                       : format("with another number of ranks than {}", world_size),
          path.string(), path.string()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    answer = ask(fd_.get(), path, rank, world_size);
  }
  if (answer == Answer::kNoLocks) {
    log::warn_once("no locks",
                   format("{} cannot be locked, because its file system has no locks ({}): do not "
                          "prepare into this directory twice at the same time",
                          path.string(), describe_errno(errno)));
  }
}

}  // namespace shoal::prepare
