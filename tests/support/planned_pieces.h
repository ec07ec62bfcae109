// planned_pieces.h -- the pieces that a rank writes into a checkpoint of AdamW's state, without a tensor: from the
// config and the layout alone.
#pragma once

#include <vector>

#include "shoal/plan/holdings.h"
#include "shoal/state/element_range.h"
#include "shoal/state/piece.h"

namespace shoal::tests {

inline std::vector<state::Box> parts_of(const plan::Parameter& weight) {
  if (weight.parts.empty()) return {state::whole_of(weight.shape)};
  std::vector<state::Box> parts;
  for (const plan::Part& part : weight.parts) {
    if (weight.shape.size() == 1)
      parts.push_back({{part.first_row}, {part.rows}});
    else
      parts.push_back({{part.first_row, part.first_column}, {part.rows, part.columns}});
  }
  return parts;
}

inline std::vector<state::PieceSpec> planned_pieces(const config::RunConfig& config,
                                                    const plan::Mesh& mesh,
                                                    int rank,
                                                    state::DType dtype) {
  const plan::RankWork work = plan::work_of(config, mesh, rank);
  std::vector<state::PieceSpec> pieces;
  for (const plan::Holding& held : plan::written_holdings(config, mesh, rank, work)) {
    for (const char* kind : {"weights.", "mean.", "mean_square."}) {
      for (const state::BoxOfRange& box :
           state::boxes_of_range(parts_of(*held.weight), held.first, held.count))
        pieces.push_back({{kind + held.weight->name, dtype, held.weight->shape}, box.box});
    }
  }
  return pieces;
}

}  // namespace shoal::tests
