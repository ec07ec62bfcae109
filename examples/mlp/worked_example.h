// worked_example.h -- the MLP that all programs here train, y = relu(x A) B, and the step that one process takes with it.
//
// X, A and B are those of lab 5 of the course (course/lab5_tensor.md). X has a third token here, so that two ranks cannot
// share the batch evenly. Gradients are summed over tokens and divided by their number in the end: sums of integers do not
// depend on their order, so ranks have to agree with one process to the last bit.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ATen/ATen.h>

#include "shoal/comm/world.h"

namespace mlp {

inline at::Tensor matrix(const std::vector<std::vector<double>>& rows) {
  std::vector<at::Tensor> each;
  for (const std::vector<double>& row : rows) each.push_back(at::tensor(row));
  return at::stack(each);
}

inline at::Tensor tokens() { return matrix({{1, 2}, {3, -1}, {-2, 1}}); }  // X
inline at::Tensor targets() { return matrix({{8, 8}, {4, -6}, {9, 5}}); }
inline at::Tensor up() { return matrix({{1, -1, 2, 0}, {0, 1, -1, 3}}); }       // A
inline at::Tensor down() { return matrix({{1, 0}, {2, 1}, {0, -1}, {1, 1}}); }  // B

// Half the squared distance from the targets, summed over tokens. Its gradient is y - targets.
inline at::Tensor loss_of(const at::Tensor& y, const at::Tensor& targets) {
  return (y - targets).square().sum() / 2;
}

// A step of SGD. The gradient is the mean over the tokens of all ranks.
inline at::Tensor updated(const at::Tensor& weight, const at::Tensor& mean_gradient) {
  return weight.detach() - 0.03 * mean_gradient;
}

struct Step {
  at::Tensor a;  // the weights after it
  at::Tensor b;
  at::Tensor y;   // the output before it
  at::Tensor dx;  // the gradient of the input, which layers further down would need
};

// Takes a step on all tokens, in one process.
Step step_of_one_process();

// The things from `begin` up to `end`.
struct Part {
  int64_t begin = 0;
  int64_t end = 0;
};

// Returns this rank's part of `all` things: parts differ by one where they must, and may be empty.
Part part_of(int64_t all, const shoal::comm::Group& ranks);

struct Compared {
  at::Tensor mine;
  at::Tensor expected;
};

// Returns whether what each rank has is what one process has of it; rank 0 prints the largest difference. Collective.
bool agree(std::string_view program, shoal::comm::Group& ranks, const std::vector<Compared>& parts);

// Returns a matrix as lines of text, with its name in front of the first.
std::string shown(std::string_view name, const at::Tensor& matrix);

// Rank 0 prints the text of each rank, in their order. Collective.
void print_all(shoal::comm::World& world, const std::string& mine);

}  // namespace mlp
