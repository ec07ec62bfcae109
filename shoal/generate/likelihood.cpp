#include "shoal/generate/likelihood.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "shoal/core/error.h"
#include "shoal/generate/continuation.h"

namespace shoal::generate {
namespace {

using data::TokenId;

// The inputs of one ending, and the place of its targets among them.
struct Row {
  at::Tensor inputs;   // 1 x tokens
  at::Tensor targets;  // tokens of the ending
  int64_t first = 0;   // index of the input whose target is the first
};

Row row_for(const parallel::ParallelModel& model,
            std::span<const TokenId> context,
            const std::vector<TokenId>& ending) {
  const auto most = static_cast<size_t>(model.config().context);
  if (ending.empty()) throw UsageError("an ending has no tokens");
  if (context.empty())
    throw UsageError("the context has no tokens: nothing tells how likely an ending's first is");
  if (ending.size() > most)
    throw UsageError(
        format("an ending is {} tokens long, but the model's context is {}", ending.size(), most));
  std::vector<TokenId> all(context.begin(), context.end());
  all.insert(all.end(), ending.begin(), ending.end());
  // The last token is only a target, so one more than the context fits.
  if (all.size() > most + 1)
    all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(most + 1));
  const size_t inputs = all.size() - 1;
  const at::Tensor targets = row_of(ending, model).view({-1});
  return {.inputs = row_of(std::span(all).first(inputs), model),
          .targets = targets,
          .first = static_cast<int64_t>(inputs - ending.size())};
}

// Returns the rows as one batch, padded to the longest: attention is causal, so padding after a
// row's end changes nothing before it.
at::Tensor batch_of(const std::vector<Row>& rows) {
  int64_t width = 0;
  for (const Row& row : rows) width = std::max(width, row.inputs.size(1));
  at::Tensor batch =
      at::zeros({static_cast<int64_t>(rows.size()), width}, rows[0].inputs.options());
  for (size_t i = 0; i < rows.size(); ++i) {
    batch.narrow(0, static_cast<int64_t>(i), 1)
        .narrow(1, 0, rows[i].inputs.size(1))
        .copy_(rows[i].inputs);
  }
  return batch;
}

}  // namespace

std::vector<Likelihood> likelihoods(parallel::ParallelModel& model,
                                    std::span<const TokenId> context,
                                    const std::vector<std::vector<TokenId>>& endings) {
  if (endings.empty()) return {};
  const at::NoGradGuard no_grad;
  std::vector<Row> rows;
  for (const std::vector<TokenId>& ending : endings)
    rows.push_back(row_for(model, context, ending));
  // Only the logits at the endings' positions are needed: a small part of all.
  int64_t first = rows.front().first;
  for (const Row& row : rows) first = std::min(first, row.first);
  model::Pass pass{.tokens = batch_of(rows), .first_logit = first};
  const at::Tensor all = model.forward(pass);
  std::vector<Likelihood> found;
  for (size_t i = 0; i < rows.size(); ++i) {
    const at::Tensor logits = all[static_cast<int64_t>(i)]
                                  .narrow(0, rows[i].first - first, rows[i].targets.size(0))
                                  .to(at::kDouble);
    const at::Tensor logs = at::log_softmax(logits, -1).gather(-1, rows[i].targets.unsqueeze(1));
    found.push_back({.log_probability = logs.sum().item<double>(),
                     .greedy = at::equal(logits.argmax(-1), rows[i].targets)});
  }
  return found;
}

}  // namespace shoal::generate
