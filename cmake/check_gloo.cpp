// Two ranks, as two threads, add 1 and 2 through c10d's Gloo; exit code 0 if both see 3. See
// CheckGloo.cmake.
#define USE_C10D_GLOO 1
#include <thread>

#include <ATen/Functions.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

int main() {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  bool right[2] = {false, false};
  const auto rank = [&](int me) {
    auto options = c10d::ProcessGroupGloo::Options::create(std::chrono::seconds(30));
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
    const c10::intrusive_ptr<c10d::Backend> group =
        c10::make_intrusive<c10d::ProcessGroupGloo>(store, me, 2, options);
    std::vector<at::Tensor> tensors = {at::full({3}, me + 1.0)};
    group->allreduce(tensors)->wait();
    right[me] = tensors[0].eq(3.0).all().item<bool>();
  };
  std::thread other(rank, 1);
  rank(0);
  other.join();
  return right[0] && right[1] ? 0 : 1;
}
