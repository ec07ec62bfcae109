#include "shoal/metrics/follow.h"

#include <cerrno>
#include <system_error>

#include <unistd.h>

#include "shoal/core/error.h"
#include "shoal/core/files.h"

namespace shoal::metrics {
namespace {

constexpr size_t kChunk = 1 << 20;
constexpr size_t kLongestLine = 16 << 20;  // a file with a longer one is none of a run's

// Returns the bytes at an offset, fewer at the end of the file.
std::string bytes_at(const UniqueFd& fd,
                     const std::filesystem::path& path,
                     uint64_t offset,
                     size_t count) {
  std::string bytes(count, '\0');
  size_t got = 0;
  while (got < count) {
    const ssize_t part =
        ::pread(fd.get(), bytes.data() + got, count - got, static_cast<off_t>(offset + got));
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) throw_file_error("read", path);
    if (part == 0) break;
    got += static_cast<size_t>(part);
  }
  bytes.resize(got);
  return bytes;
}

}  // namespace

void GrowingFile::read(const std::function<void()>& restart,
                       const std::function<void(std::string_view)>& line) {
  std::error_code unknown;
  const bool is_there = std::filesystem::exists(path_, unknown) || unknown;
  const UniqueFd fd = is_there ? open_regular_file(path_).fd : UniqueFd();
  const size_t last = last_line_.size();
  if (!fd.valid() || bytes_at(fd, path_, read_ - last, last) != last_line_) {
    if (read_ > 0) restart();
    read_ = 0;
    last_line_.clear();
  }
  if (!fd.valid()) return;
  std::string open;  // the beginning of a line whose end is in a later chunk
  for (uint64_t at = read_;;) {
    const std::string chunk = bytes_at(fd, path_, at, kChunk);
    if (chunk.empty()) return;
    at += chunk.size();
    open += chunk;
    size_t begin = 0;
    for (size_t end = 0; (end = open.find('\n', begin)) != std::string::npos; begin = end + 1) {
      line(std::string_view(open).substr(begin, end - begin));
      last_line_ = open.substr(begin, end + 1 - begin);
      read_ += last_line_.size();
    }
    open.erase(0, begin);
    if (open.size() > kLongestLine)
      throw DataError(format("{} has a line of more than {} bytes", path_.string(), kLongestLine));
  }
}

Follower::New Follower::read() {
  New news;
  records_.read([&news] { news.records_restarted = true; },
                [&news](std::string_view line) {
                  if (const auto record = record_of(line)) news.records.push_back(*record);
                });
  texts_.read([&news] { news.texts_restarted = true; },
              [&news](std::string_view line) {
                if (auto text = text_of(line)) news.texts.push_back(*std::move(text));
              });
  return news;
}

}  // namespace shoal::metrics
