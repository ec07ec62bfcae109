#include "worked_example.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "shoal/comm/texts.h"
#include "shoal/core/even_parts.h"
#include "shoal/core/format.h"

namespace mlp {

using shoal::format;

Step step_of_one_process() {
  const at::Tensor x = tokens().requires_grad_();
  const at::Tensor a = up().requires_grad_();
  const at::Tensor b = down().requires_grad_();
  const at::Tensor y = at::relu(x.matmul(a)).matmul(b);
  loss_of(y, targets()).backward();
  const int64_t count = x.size(0);
  return {updated(a, a.grad() / count), updated(b, b.grad() / count), y.detach(), x.grad()};
}

Part part_of(int64_t all, const shoal::comm::Group& ranks) {
  const auto begin_of = [&](int rank) {
    return static_cast<int64_t>(shoal::even_part_begin(static_cast<uint64_t>(all),
                                                       static_cast<uint64_t>(rank),
                                                       static_cast<uint64_t>(ranks.size())));
  };
  return {begin_of(ranks.rank()), begin_of(ranks.rank() + 1)};
}

bool agree(std::string_view program,
           shoal::comm::Group& ranks,
           const std::vector<Compared>& parts) {
  double largest = 0;
  for (const Compared& part : parts) {
    const bool same_shape = part.mine.sizes() == part.expected.sizes();
    if (same_shape && part.mine.numel() == 0) continue;  // a rank may have nothing
    const double difference =
        same_shape ? (part.mine - part.expected).abs().max().item<double>() : HUGE_VAL;
    largest = std::max(largest, std::isnan(difference) ? HUGE_VAL : difference);
  }
  const at::Tensor of_all = at::full({1}, largest, at::kDouble);
  ranks.all_reduce(of_all, shoal::comm::Reduce::kMax, "largest difference").wait();
  largest = of_all.item<double>();
  if (ranks.rank() == 0)
    std::cout << format("{}: {} ranks {} with one process: largest difference {}\n", program,
                        ranks.size(), largest == 0 ? "agree" : "do NOT agree", largest)
              << std::flush;  // before a rank that does not agree ends the job
  return largest == 0;
}

std::string shown(std::string_view name, const at::Tensor& matrix) {
  std::string text;
  for (int64_t row = 0; row < matrix.size(0); ++row) {
    text += format("  {:<12}", row == 0 ? name : "");
    for (int64_t column = 0; column < matrix.size(1); ++column)
      text += format("{:6.4g}", matrix[row][column].item<double>() + 0.0);  // not -0
    text += "\n";
  }
  return text;
}

void print_all(shoal::comm::World& world, const std::string& mine) {
  for (const std::string& text : shoal::comm::all_texts(world, mine, "what ranks show")) {
    if (world.rank() == 0) std::cout << text;
  }
}

}  // namespace mlp
