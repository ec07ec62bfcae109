#include "shoal/core/threads.h"

#include <exception>
#include <thread>
#include <vector>

namespace shoal {

void run_on_threads(int count, const std::function<void(int number)>& body) {
  std::vector<std::exception_ptr> failures(static_cast<size_t>(count));
  std::vector<std::thread> threads;
  threads.reserve(failures.size());
  for (int number = 0; number < count; ++number) {
    threads.emplace_back([&body, &failure = failures[static_cast<size_t>(number)], number] {
      try {
        body(number);
      } catch (...) {
        failure = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace shoal
