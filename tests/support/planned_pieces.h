// planned_pieces.h -- the pieces that a rank writes into a checkpoint of AdamW's state, from the
// config and the layout alone, without tensors.
#pragma once

#include <vector>

#include "shoal/core/element_range.h"
#include "shoal/plan/holdings.h"
#include "shoal/state/piece.h"

namespace shoal::tests {

inline std::vector<state::PieceSpec> planned_pieces(const config::RunConfig& config,
                                                    const plan::Mesh& mesh,
                                                    int rank,
                                                    state::DType dtype) {
  const plan::RankPlan plan = plan::plan_of(config, mesh, rank);
  std::vector<state::PieceSpec> pieces;
  for (const plan::Holding& held : plan::written_holdings(plan)) {
    for (const char* kind : {"weights.", "first_moment.", "second_moment."}) {
      for (const BoxOfRange& box : boxes_of_range(held.weight->parts, held.first, held.count))
        pieces.push_back({{kind + held.weight->name, dtype, held.weight->shape}, box.box});
    }
  }
  return pieces;
}

}  // namespace shoal::tests
