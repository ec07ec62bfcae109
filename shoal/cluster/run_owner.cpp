#include "shoal/cluster/run_owner.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <map>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shoal/cluster/address.h"
#include "shoal/core/console.h"
#include "shoal/core/error.h"
#include "shoal/core/file_error.h"
#include "shoal/core/files.h"
#include "shoal/core/log.h"
#include "shoal/core/number_in.h"
#include "shoal/core/process_stat.h"

namespace shoal::cluster {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "owner-";
constexpr size_t kMostBytes = 4096;
constexpr size_t kLongestValue = 400;
constexpr Duration kTimeToDie = std::chrono::seconds(2);

std::string first_line_of(const char* path) {
  try {
    const std::string text = ChunkReader(path).next(kLongestValue);
    return text.substr(0, text.find('\n'));
  } catch (const DataError&) {
    return {};
  }
}

// Nothing of a process that is dead, though nobody has asked for its exit code yet.
std::string start_of(const std::string& pid) {
  const std::optional<ProcessStat> stat = process_stat(pid);
  return stat && stat->state != 'Z' && stat->state != 'X' ? stat->start : "";
}

std::string now_in_words() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::string text(32, '\0');
  text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts));
  return text;
}

// What an owner's file says, one "key: value" a line.
using Facts = std::map<std::string, std::string>;

// Where a process number means the same process.
Facts facts_of_this_host() {
  std::error_code ignored;
  return {{"host", host_name()},
          {"process numbers", fs::read_symlink("/proc/self/ns/pid", ignored).string()},
          {"boot", first_line_of("/proc/sys/kernel/random/boot_id")}};
}

Facts facts_of(const Membership& me, const Environment& environment) {
  const std::string pid = std::to_string(::getpid());
  Facts facts = facts_of_this_host();
  facts.merge(Facts{{"job", me.job},
                    {"restarts", std::to_string(me.restarts)},
                    {"since", now_in_words()},
                    {"process", pid},
                    {"process started", start_of(pid)},
                    {"slurm job", environment.get_or("SLURM_JOB_ID", "")},
                    {"slurm restarts", environment.get_or("SLURM_RESTART_COUNT", "0")}});
  return facts;
}

std::string written(const Facts& facts) {
  std::string text;
  for (const auto& [key, value] : facts) text += format("{}: {}\n", key, value);
  return text;
}

// Anybody may have written it, and it is shown to people.
Facts facts_in(const std::string& text) {
  Facts facts;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    const size_t colon = line.find(": ");
    if (colon != std::string::npos)
      facts[line.substr(0, colon)] = printable(line.substr(colon + 2, kLongestValue));
    at = end + 1;
  }
  return facts;
}

std::string value_of(const Facts& facts, const std::string& key) {
  const auto found = facts.find(key);
  return found == facts.end() ? "" : found->second;
}

bool same(const Facts& a, const Facts& b, const std::string& key) {
  return !value_of(a, key).empty() && value_of(a, key) == value_of(b, key);
}

// 0 without one.
uint64_t count_of(const Facts& facts, const std::string& key) {
  return number_in<uint64_t>(value_of(facts, key)).value_or(0);
}

// Whoever starts a job anew right after killing it finds the old one dying.
bool process_goes(const Facts& owner, Duration time_to_die) {
  const Clock::time_point until = Clock::now() + time_to_die;
  for (;;) {
    if (start_of(value_of(owner, "process")) != value_of(owner, "process started")) return true;
    if (Clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// Whether it is an earlier start of the same job: nobody starts a job again that has not ended, but a
// process of it may be left that a driver or a file system holds in the kernel.
bool was_before(const Facts& owner, const Facts& me) {
  return same(owner, me, "job") && count_of(owner, "restarts") < count_of(me, "restarts");
}

// What is known of its process; nothing when only its file can tell.
std::optional<bool> is_gone(const Facts& owner, const Facts& me, Duration time_to_die) {
  if (was_before(owner, me)) return true;
  if (same(owner, me, "boot") && same(owner, me, "process numbers"))
    return process_goes(owner, time_to_die);
  if (same(owner, me, "slurm job") &&
      count_of(owner, "slurm restarts") < count_of(me, "slurm restarts"))
    return true;  // Slurm ends a job before it starts it again
  return std::nullopt;
}

fs::path owner_file(const fs::path& directory, uint64_t number) {
  return directory / format("{}{:06}", kPrefix, number);
}

// Owners that there are or were: the highest number, 0 when there is none.
uint64_t highest_in(const fs::path& directory) {
  uint64_t highest = 0;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    const auto number = number_in<uint64_t>(std::string_view(name).substr(kPrefix.size()));
    highest = std::max(highest, number.value_or(0));
  }
  if (error) throw_file_error("list", directory, error);
  return highest;
}

// Opened anew each time: that is when a network file system asks its server. Nothing when there is no
// such file; one that cannot be opened may belong to another user's job.
std::optional<timespec> touched_at(const fs::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() && errno == ENOENT) return std::nullopt;
  struct stat status {};
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0) throw_file_error("read", path);
  return status.st_mtim;
}

bool is_untouched(const fs::path& path, Duration patience) {
  const auto first = touched_at(path);
  const Clock::time_point until = Clock::now() + patience;
  while (Clock::now() < until) {
    std::this_thread::sleep_for(std::min<Duration>(patience / 10, std::chrono::seconds(1)));
    const auto now = touched_at(path);
    if (!now || !first) return true;  // given back
    if (now->tv_sec != first->tv_sec || now->tv_nsec != first->tv_nsec) return false;
  }
  return true;
}

std::string described(const Facts& owner) {
  return format("job {} on {} (process {}) since {}", value_of(owner, "job"),
                value_of(owner, "host"), value_of(owner, "process"), value_of(owner, "since"));
}

// Nothing when the file is not there: its owner gave it back, or another one took it over just now.
std::optional<Facts> read_facts(const fs::path& path) {
  try {
    return facts_in(read_file(path, kMostBytes));
  } catch (const DataError&) {
    if (touched_at(path)) throw;
    return std::nullopt;
  }
}

// How long ago a file was touched, if its clock is this host's.
Duration age_of(const timespec& touched) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::chrono::duration_cast<Duration>(std::chrono::seconds(now.tv_sec - touched.tv_sec));
}

}  // namespace

std::optional<OwnerSeen> owner_of(const fs::path& directory, Duration patience) {
  const uint64_t number = highest_in(directory);
  const fs::path path = owner_file(directory, number);
  const std::optional<timespec> touched = number > 0 ? touched_at(path) : std::nullopt;
  const std::optional<Facts> owner = touched ? read_facts(path) : std::nullopt;
  if (!owner) return std::nullopt;
  const std::optional<bool> gone = is_gone(*owner, facts_of_this_host(), Duration(0));
  return OwnerSeen{.described = described(*owner),
                   .gone = gone.value_or(age_of(*touched) > patience)};
}

RunOwner::RunOwner(fs::path directory,
                   const Membership& me,
                   const Environment& environment,
                   const RunOwnerOptions& options)
    : directory_(std::move(directory)) {
  const Facts mine = facts_of(me, environment);
  for (;;) {
    const uint64_t before = highest_in(directory_);
    const fs::path path = owner_file(directory_, before);
    if (const auto owner = before > 0 ? read_facts(path) : std::nullopt) {
      std::optional<bool> gone = is_gone(*owner, mine, kTimeToDie);
      if (options.take_over) gone = true;
      if (!gone) {
        log::info("{} belongs to {}: watching for {} whether it is still there",
                  directory_.string(), described(*owner), format_duration(options.patience));
        gone = is_untouched(path, options.patience);
      }
      if (!*gone)
        throw UsageError(
            format("{} belongs to {}: end that job, choose another run.name, or take the run over "
                   "with --set run.take_over=true",
                   directory_.string(), described(*owner)));
      log::info("{} is taken over from {}", directory_.string(), described(*owner));
    }
    if (!create_file_once(owner_file(directory_, before + 1), written(mine))) continue;
    number_ = before + 1;
    content_ = written(mine);
    std::error_code ignored;
    if (before > 0) fs::remove(path, ignored);
    break;
  }
  thread_ = std::thread([this, every = options.beat] { beat(every); });
}

RunOwner::~RunOwner() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  give_back();
}

void RunOwner::give_back() const {
  std::error_code ignored;
  if (owns()) fs::remove(file(), ignored);
}

fs::path RunOwner::file() const { return owner_file(directory_, number_); }

// When those who took over are gone as well there is no file, or another one's with this number.
std::optional<bool> RunOwner::look() const {
  try {
    if (highest_in(directory_) != number_) return false;
    return read_file(file(), kMostBytes) == content_;
  } catch (const DataError&) {
    return std::nullopt;
  }
}

bool RunOwner::owns() const { return look().value_or(false); }

void RunOwner::beat(Duration every) {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, every, [this] { return ending_; })) {
    const UniqueFd fd(::open(file().c_str(), O_WRONLY | O_CLOEXEC));
    if (fd.valid()) ::futimens(fd.get(), nullptr);
    // A file system that does not answer now may the next time. Whoever reads a directory that others
    // write to may miss an entry once.
    std::optional<bool> owned = look();
    if (owned && !*owned) owned = look();
    if (owned) lost_ = !*owned;
  }
}

}  // namespace shoal::cluster
