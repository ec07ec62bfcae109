// model_parallel -- naive model parallelism: rank 0 has A, rank 1 has B, and one of them always waits.
//
//   shoal launch --ranks 2 -- build/release/examples/mlp model_parallel

#include <stdexcept>

#include "programs.h"
#include "timeline.h"
#include "worked_example.h"

namespace mlp {
namespace {

// A forward pass takes a unit of time per token. A backward pass takes two: it has twice the products, for the gradients
// of the weights and of the input.
void work_on_all(Timeline& timeline, std::string_view pass, size_t units) {
  for (int64_t token = 0; token < tokens().size(0); ++token) timeline.work(pass, token, units);
}

}  // namespace

bool model_parallel(shoal::comm::World& world, shoal::comm::Group ranks) {
  if (ranks.size() != 2) throw std::invalid_argument("two layers need two ranks");
  const Step expected = step_of_one_process();
  const int64_t count = tokens().size(0);
  Timeline timeline(ranks);

  Compared compared;
  if (ranks.rank() == 0) {
    const at::Tensor a = up().requires_grad_();
    const at::Tensor hidden = at::relu(tokens().matmul(a));
    work_on_all(timeline, "F", 1);
    timeline.send(hidden.detach(), 1);

    // Rank 0 waits here, until rank 1 has done all of its work.
    const at::Tensor gradient = timeline.receive(hidden.sizes(), 1);
    hidden.backward(gradient);
    work_on_all(timeline, "B", 2);
    compared = {updated(a, a.grad() / count), expected.a};
  } else {
    const at::Tensor b = down().requires_grad_();

    // Rank 1 waits here, from the beginning. To autograd the activations of rank 0 are an input like any other, whose
    // gradient is what rank 0 needs.
    const at::Tensor hidden = timeline.receive({count, b.size(0)}, 0).requires_grad_();
    const at::Tensor loss = loss_of(hidden.matmul(b), targets());
    work_on_all(timeline, "F", 1);
    loss.backward();
    work_on_all(timeline, "B", 2);
    timeline.send(hidden.grad(), 0);
    compared = {updated(b, b.grad() / count), expected.b};
  }

  timeline.draw(world);
  return agree("model_parallel", ranks, {compared});
}

}  // namespace mlp
