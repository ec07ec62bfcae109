// few_threads.h -- independent pieces of work, run by a few threads that live as long as the work.
//
//   for_each_by_few_threads(files.size(), 4, [&](size_t i) { read(files[i]); });
//
// Meant for copies and files, where a second thread helps and a sixth does not. A free thread takes
// the next index, so nothing waits for a thread that the host does not run. After an exception no
// new index is begun; when all threads have ended, one of the exceptions is rethrown.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <thread>
#include <vector>

namespace shoal {

template <class Work>
void for_each_by_few_threads(size_t count, size_t most_threads, const Work& work) {
  std::atomic<size_t> next = 0;
  const auto work_through = [&] {
    try {
      for (size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      throw;
    }
  };
  const size_t here = std::max<size_t>(std::thread::hardware_concurrency(), 1);
  std::vector<std::future<void>> others;
  for (size_t i = 1; i < std::min({here, most_threads, count}); ++i)
    others.push_back(std::async(std::launch::async, work_through));
  work_through();
  for (std::future<void>& other : others) other.get();
}

}  // namespace shoal
