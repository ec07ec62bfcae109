#include "app/engine/data_parallel_check.h"

#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "shoal/core/quantities.h"
#include "shoal/core/random.h"

namespace shoal::app {
namespace {

// Odd sizes throughout, so that no even split hides a mistake.
constexpr int64_t kInputs = 7;
constexpr int64_t kHidden = 13;
constexpr int64_t kOutputs = 3;
// Samples of a step, over all ranks: some ranks get one more than others.
constexpr int64_t kBatch = 37;
constexpr int kSteps = 20;
constexpr double kLearningRate = 0.2;

at::Tensor random_matrix(
    uint64_t seed, const std::string& name, int64_t rows, int64_t columns, int64_t first_row) {
  std::vector<float> values(static_cast<size_t>(rows * columns));
  Random(seed, RandomStream::kCheck, name)
      .fill_normal(values, static_cast<uint64_t>(first_row * columns));
  return at::tensor(values).view({rows, columns}).to(at::kDouble);
}

// tanh(x W1) W2, fitted to a fixed random function by gradient descent.
class Network {
 public:
  Network(uint64_t seed, at::Device device) {
    weights_ = {(random_matrix(seed, "doctor.w1", kInputs, kHidden, 0) * 0.5).to(device),
                (random_matrix(seed, "doctor.w2", kHidden, kOutputs, 0) * 0.5).to(device)};
    for (at::Tensor& weight : weights_) weight.requires_grad_(true);
  }

  // Returns the squared error summed over the given samples, divided by the whole batch: the ranks'
  // terms sum to the loss.
  double backward(const at::Tensor& x, const at::Tensor& y) {
    const at::Tensor error = at::tanh(x.matmul(weights_[0])).matmul(weights_[1]) - y;
    const at::Tensor loss = error.square().sum() / kBatch;
    loss.backward();
    return loss.item<double>();
  }

  std::vector<at::Tensor> gradients() { return {weights_[0].grad(), weights_[1].grad()}; }

  void step() {
    const at::NoGradGuard no_grad;
    for (at::Tensor& weight : weights_) {
      weight.sub_(weight.grad() * kLearningRate);
      weight.mutable_grad().zero_();
    }
  }

  [[nodiscard]] at::Tensor flat() const {
    return at::cat({weights_[0].detach().view(-1), weights_[1].detach().view(-1)});
  }

 private:
  std::vector<at::Tensor> weights_;
};

struct Samples {
  at::Tensor x;
  at::Tensor y;
};

// Returns samples [first, first + count) of a step, the same on every rank.
Samples samples_of(uint64_t seed, int step, int64_t first, int64_t count, at::Device device) {
  const at::Tensor x = random_matrix(seed, "doctor.data", count, kInputs, step * kBatch + first);
  const at::Tensor target =
      at::sin(x.matmul(random_matrix(seed, "doctor.target", kInputs, kOutputs, 0)));
  return {x.to(device), target.to(device)};
}

}  // namespace

DataParallelResult check_data_parallel(comm::World& world, comm::Group& group, uint64_t seed) {
  const auto began = Clock::now();
  const at::Device device = world.device();
  Network together(seed, device);
  Network alone(seed, device);
  const int64_t first = kBatch * group.rank() / group.size();
  const int64_t count = kBatch * (group.rank() + 1) / group.size() - first;
  DataParallelResult result{.steps = kSteps};
  for (int step = 0; step < kSteps; ++step) {
    const Samples mine = samples_of(seed, step, first, count, device);
    const at::Tensor loss = at::full({1}, together.backward(mine.x, mine.y), at::kDouble);
    group.all_reduce(together.gradients(), comm::Reduce::kSum, "doctor gradients").wait();
    together.step();
    world.control().all_reduce(loss, comm::Reduce::kSum, "doctor loss");
    if (step == 0) result.first_loss = loss.item<double>();
    result.last_loss = loss.item<double>();

    const Samples all = samples_of(seed, step, 0, kBatch, device);
    alone.backward(all.x, all.y);
    alone.step();
  }
  const at::Tensor difference = (together.flat() - alone.flat()).abs().max().to(at::kCPU).view({1});
  world.control().all_reduce(difference, comm::Reduce::kMax, "doctor difference");
  result.max_difference = difference.item<double>();
  result.seconds = seconds_since(began);
  return result;
}

}  // namespace shoal::app
