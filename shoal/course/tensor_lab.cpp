#include <algorithm>

#include "shoal/blueprint/tensor_calls.h"
#include "shoal/blueprint/tensor_split.h"
#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/course/collectives.h"
#include "shoal/course/lab.h"

namespace shoal::course {
namespace {

using blueprint::Share;
using blueprint::TensorPlace;

// The worked example: two tokens of two features, four hidden features, two ranks.
constexpr int kTensorRanks = 2;

Matrix tokens() { return {{1, 2}, {3, -1}}; }

Matrix up() { return {{1, -1, 2, 0}, {0, 1, -1, 3}}; }

Matrix down() { return {{1, 0}, {2, 1}, {0, -1}, {1, 1}}; }

Row bias() { return {5, -5}; }

Matrix relu(Matrix x) {
  for (Row& row : x) {
    for (double& value : row) value = std::max(value, 0.0);
  }
  return x;
}

Matrix columns_of(const Matrix& x, const Share& share) {
  Matrix part;
  for (const Row& row : x)
    part.emplace_back(row.begin() + share.begin, row.begin() + share.begin + share.count);
  return part;
}

Matrix rows_of(const Matrix& x, const Share& share) {
  return {x.begin() + share.begin, x.begin() + share.begin + share.count};
}

Share hidden_share(int rank) {
  return blueprint::share_of(static_cast<int64_t>(down().size()),
                             TensorPlace{.ranks = kTensorRanks, .rank = rank});
}

Matrix hidden_of(int rank) { return relu(product(tokens(), columns_of(up(), hidden_share(rank)))); }

Matrix partial_of(int rank) {
  return product(hidden_of(rank), rows_of(down(), hidden_share(rank)));
}

Matrix with_bias(Matrix y) {
  for (Row& row : y) {
    for (size_t i = 0; i < row.size(); ++i) row[i] += bias()[i];
  }
  return y;
}

// The first matrix split by rows, and the activation applied before the sum.
Matrix wrong_hidden() {
  const auto part = [](int rank) {
    const Share share = blueprint::share_of(2, TensorPlace{.ranks = kTensorRanks, .rank = rank});
    return relu(product(columns_of(tokens(), share), rows_of(up(), share)));
  };
  return sum(part(0), part(1));
}

Row shares_of(int64_t all, int ranks) {
  Row counts;
  for (int rank = 0; rank < ranks; ++rank)
    counts.push_back(static_cast<double>(
        blueprint::share_of(all, TensorPlace{.ranks = ranks, .rank = rank}).count));
  return counts;
}

// All-gathers and reduce-scatters of a block's forward pass.
int64_t calls_of_block() {
  const config::Loaded loaded =
      config::load_text(content_of(5, "model.yaml"), {.file = "model.yaml"});
  SHOAL_CHECK(loaded.found.problems.empty(), "{}",
              config::report("model.yaml", loaded.found.problems));
  return static_cast<int64_t>(
      blueprint::forward_calls(config::UnitKind::kBlock, loaded.config.model,
                               {.sequences = 1, .tensor_place = {.ranks = kTensorRanks, .rank = 0}},
                               {})
          .size());
}

}  // namespace

std::vector<Question> tensor_questions() {
  const Matrix output = sum(partial_of(0), partial_of(1));
  return {
      matrix("hidden_0", "relu(X A) on rank 0, which has the first two columns of A.",
             "Multiply X by the first two columns alone, then replace negative numbers by 0.",
             hidden_of(0)),
      matrix("hidden_1", "The same on rank 1, which has the last two columns.",
             "No number of rank 0 is needed for it.", hidden_of(1)),
      matrix("partial_0", "Rank 0 multiplies what it has by the first two rows of B. The result?",
             "(2 x 2) times (2 x 2): the whole shape of the output, but only a part of its sum.",
             partial_of(0)),
      matrix("partial_1", "And rank 1, with the last two rows of B?", "Likewise.", partial_of(1)),
      matrix("output", "What does the all-reduce leave on both ranks?",
             "It is the sum of the two, and the same as relu(X A) B on one rank.", output),
      matrix("output_with_bias",
             "A bias of [5, -5] is added to each row of the output. What is right?",
             "Once, behind the all-reduce. On each of two ranks before it, it would count twice.",
             with_bias(output)),
      matrix("wrong_split",
             "Someone splits A by rows instead, so that rank 0 has the first row and the first "
             "column of X, and applies relu before the sum: what is the hidden matrix (two rows of "
             "four) then?",
             "relu(x0 a0) + relu(x1 a1), with x0 the first column of X and a0 the first row of A.",
             wrong_hidden()),
      list("uneven", "10 hidden features are divided over 4 ranks. How many does each rank get?",
           "The share of rank r begins at floor(10 r / 4), and ends where the next one begins.",
           shares_of(10, 4)),
      whole("calls_of_block",
            "How many collectives does shoal call in the forward pass of one block over tp?",
            "Attention and MLP each gather the tokens of all ranks before their first matrix, and "
            "reduce-scatter behind their last.",
            calls_of_block()),
  };
}

}  // namespace shoal::course
