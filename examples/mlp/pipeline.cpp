// pipeline -- the two stages of model_parallel.cpp with micro-batches of one token, in 1F1B order: while rank 1 works on a
// token, rank 0 works on the next.
//
//   shoal launch --ranks 2 -- build/release/examples/mlp pipeline

#include <map>
#include <stdexcept>

#include "programs.h"
#include "timeline.h"
#include "worked_example.h"

namespace mlp {
namespace {

// Layer A. It is one forward pass ahead of the backward passes: then one forward, one backward, and so on.
at::Tensor first_stage(Timeline& timeline, int64_t count) {
  const at::Tensor a = up().requires_grad_();
  // What backward passes need: activations of two micro-batches at most, however many there are.
  std::map<int64_t, at::Tensor> in_flight;

  const auto forward = [&](int64_t token) {
    in_flight[token] = at::relu(tokens().narrow(0, token, 1).matmul(a));
    timeline.work("F", token, 1);
    timeline.send(in_flight[token].detach(), 1);
  };
  const auto backward = [&](int64_t token) {
    const at::Tensor gradient = timeline.receive(in_flight[token].sizes(), 1);
    in_flight[token].backward(gradient);  // autograd adds to the gradient of A
    in_flight.erase(token);
    timeline.work("B", token, 2);
  };

  forward(0);
  for (int64_t token = 1; token < count; ++token) {
    forward(token);
    backward(token - 1);
  }
  backward(count - 1);
  return updated(a, a.grad() / count);  // once, when all micro-batches are through
}

// Layer B, the last stage: the backward pass of a micro-batch follows its forward pass at once.
at::Tensor last_stage(Timeline& timeline, int64_t count) {
  const at::Tensor b = down().requires_grad_();
  for (int64_t token = 0; token < count; ++token) {
    const at::Tensor hidden = timeline.receive({1, b.size(0)}, 0).requires_grad_();
    const at::Tensor loss = loss_of(hidden.matmul(b), targets().narrow(0, token, 1));
    timeline.work("F", token, 1);
    loss.backward();
    timeline.work("B", token, 2);
    timeline.send(hidden.grad(), 0);
  }
  return updated(b, b.grad() / count);
}

}  // namespace

bool pipeline(shoal::comm::World& world, shoal::comm::Group ranks) {
  if (ranks.size() != 2) throw std::invalid_argument("two stages need two ranks");
  Timeline timeline(ranks);
  const int64_t count = tokens().size(0);
  const at::Tensor weight =
      ranks.rank() == 0 ? first_stage(timeline, count) : last_stage(timeline, count);
  timeline.draw(world);
  const Step expected = step_of_one_process();
  return agree("pipeline", ranks, {{weight, ranks.rank() == 0 ? expected.a : expected.b}});
}

}  // namespace mlp
