// ddp -- data parallelism: every rank has the whole model and a part of the batch.
//
//   shoal launch --ranks 2 -- build/release/examples/mlp ddp

#include <iostream>

#include "shoal/core/format.h"

#include "programs.h"
#include "worked_example.h"

namespace mlp {

bool ddp(shoal::comm::World& world, shoal::comm::Group ranks) {
  using shoal::comm::Reduce;

  // Two ranks have one and two of the three tokens. A fourth rank would have none, and gradients of zero.
  const auto [begin, end] = part_of(tokens().size(0), ranks);
  const at::Tensor x = tokens().slice(0, begin, end);

  // A copy of the model on each rank, and a pass through it that needs nobody else. The loss is a sum over tokens: with
  // the mean of each rank, tokens of a rank that has fewer would count for more.
  const at::Tensor a = up().requires_grad_();
  const at::Tensor b = down().requires_grad_();
  loss_of(at::relu(x.matmul(a)).matmul(b), targets().slice(0, begin, end)).backward();
  print_all(world, shoal::format("rank {}, tokens [{}, {})\n", ranks.rank(), begin, end) +
                       shown("dA", a.grad()) + shown("dB", b.grad()));

  // The one thing that ranks do together: they add up gradients, and count tokens.
  const at::Tensor count = at::full({1}, x.size(0), at::kDouble);
  ranks.all_reduce({a.grad(), b.grad(), count}, Reduce::kSum, "gradients").wait();
  if (ranks.rank() == 0)
    std::cout << "all ranks\n" << shown("dA", a.grad()) << shown("dB", b.grad());

  // All have the same gradients now and take the same step, so their copies stay equal.
  const at::Tensor new_a = updated(a, a.grad() / count);
  const at::Tensor new_b = updated(b, b.grad() / count);

  const Step expected = step_of_one_process();
  return agree("ddp", ranks, {{new_a, expected.a}, {new_b, expected.b}});
}

}  // namespace mlp
