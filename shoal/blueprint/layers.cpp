#include "shoal/blueprint/layers.h"

namespace shoal::blueprint {
namespace {

WeightSpec split_weight(std::string name, Shape shape, const Init& init, std::vector<Box> parts) {
  return {.name = std::move(name),
          .shape = std::move(shape),
          .init = init,
          .split = true,
          .parts = std::move(parts)};
}

// The place's rows of each of several that stand behind each other.
std::vector<Share> row_shares(const std::vector<Features>& all, const TensorPlace& place) {
  std::vector<Share> shares;
  int64_t begin = 0;
  for (const Features& features : all) {
    const Share share = share_of(features, place);
    shares.push_back({.begin = begin + share.begin, .count = share.count});
    begin += features.size();
  }
  return shares;
}

WeightSpec matrix_of_rows(std::string name,
                          const std::vector<Features>& rows,
                          int64_t columns,
                          const Init& init,
                          const TensorPlace& place) {
  std::vector<Box> parts;
  for (const Share& share : row_shares(rows, place))
    parts.push_back({{share.begin, 0}, {share.count, columns}});
  return split_weight(std::move(name), {size_of(rows), columns}, init, std::move(parts));
}

WeightSpec vector_of_rows(std::string name,
                          const std::vector<Features>& rows,
                          const Init& init,
                          const TensorPlace& place) {
  std::vector<Box> parts;
  for (const Share& share : row_shares(rows, place))
    parts.push_back({{share.begin}, {share.count}});
  return split_weight(std::move(name), {size_of(rows)}, init, std::move(parts));
}

// The place's columns: its part of the inputs.
WeightSpec matrix_of_columns(std::string name,
                             int64_t rows,
                             const Features& columns,
                             const Init& init,
                             const TensorPlace& place) {
  const Share share = share_of(columns, place);
  return split_weight(std::move(name), {rows, columns.size()}, init,
                      {{{0, share.begin}, {rows, share.count}}});
}

}  // namespace

std::vector<WeightSpec> weights_of(const LinearSpec& spec, const TensorPlace& place) {
  const int64_t out = size_of(spec.out);
  const Init init = Init::normal(spec.std);
  std::vector<WeightSpec> weights;
  switch (spec.split) {
    case Split::kNone:
      weights.push_back(whole_weight(spec.weight(), {out, spec.in.size()}, init));
      break;
    case Split::kColumns:
      weights.push_back(matrix_of_rows(spec.weight(), spec.out, spec.in.size(), init, place));
      break;
    case Split::kRows:
      weights.push_back(matrix_of_columns(spec.weight(), out, spec.in, init, place));
      break;
  }
  if (!spec.bias) return weights;
  weights.push_back(spec.split == Split::kColumns
                        ? vector_of_rows(spec.bias_name(), spec.out, Init::zeros(), place)
                        : whole_weight(spec.bias_name(), {out}, Init::zeros()));
  return weights;
}

std::vector<WeightSpec> weights_of(const NormSpec& spec, const TensorPlace& place) {
  if (!spec.has_weight()) return {};
  if (spec.split) return {vector_of_rows(spec.weight(), {spec.over}, Init::ones(), place)};
  std::vector<WeightSpec> weights = {whole_weight(spec.weight(), {spec.over.size()}, Init::ones())};
  if (spec.has_bias())
    weights.push_back(whole_weight(spec.bias_name(), {spec.over.size()}, Init::zeros()));
  return weights;
}

std::vector<WeightSpec> weights_of(const EmbeddingSpec& spec, const TensorPlace& place) {
  const Init init = Init::normal(spec.std);
  if (spec.split)
    return {matrix_of_rows(spec.weight(), {Features{spec.rows}}, spec.width, init, place)};
  return {whole_weight(spec.weight(), {spec.rows, spec.width}, init)};
}

}  // namespace shoal::blueprint
