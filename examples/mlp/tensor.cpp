// tensor -- tensor parallelism: A is cut by columns and B by rows, so that each rank has some of the hidden features.
//
//   shoal launch --ranks 2 -- build/release/examples/mlp tensor

#include <iostream>

#include "shoal/core/format.h"

#include "programs.h"
#include "worked_example.h"

namespace mlp {

bool tensor(shoal::comm::World& world, shoal::comm::Group ranks) {
  using shoal::comm::Reduce;

  // Columns of A and rows of B with the same numbers belong to the same hidden features.
  const auto [begin, end] = part_of(up().size(1), ranks);
  const at::Tensor a = up().slice(1, begin, end).contiguous().requires_grad_();
  const at::Tensor b = down().slice(0, begin, end).contiguous().requires_grad_();

  // All ranks have all tokens. relu works on each number alone, so there is nothing to ask between the two matrices. The
  // second product has the shape of Y, but only the terms of this rank's features.
  const at::Tensor x = tokens().requires_grad_();
  const at::Tensor hidden = at::relu(x.matmul(a));
  const at::Tensor partial = hidden.matmul(b);
  const at::Tensor y = partial.detach().clone();
  ranks.all_reduce(y, Reduce::kSum, "output").wait();

  // Y is a sum, so each of its terms has the gradient of Y. From there on backwards each rank works alone again, and has
  // whole gradients of its own columns and rows.
  partial.backward(y - targets());

  // The input went into the columns of all ranks, and its gradient is the sum over them. Layers below need it.
  const at::Tensor dx = x.grad().clone();
  ranks.all_reduce(dx, Reduce::kSum, "gradient of the input").wait();

  print_all(world, shoal::format("rank {}, hidden features [{}, {})\n", ranks.rank(), begin, end) +
                       shown("A", a) + shown("B", b) + shown("relu(X A)", hidden) +
                       shown("partial Y", partial) + shown("partial dX", x.grad()));
  if (ranks.rank() == 0) std::cout << "all ranks\n" << shown("Y", y) << shown("dX", dx);

  const Step expected = step_of_one_process();
  const int64_t count = x.size(0);
  return agree("tensor", ranks,
               {{y, expected.y},
                {dx, expected.dx},
                {updated(a, a.grad() / count), expected.a.slice(1, begin, end)},
                {updated(b, b.grad() / count), expected.b.slice(0, begin, end)}});
}

}  // namespace mlp
