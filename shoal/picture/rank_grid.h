// rank_grid.h -- draws which rank is where: nodes as boxes of ranks, with the stage, the data and
// the tensor place of each.
#pragma once

#include "shoal/picture/markup.h"
#include "shoal/plan/mesh.h"
#include "shoal/plan/nodes.h"

namespace shoal::picture {

// The first node of each of at most four stages, and words for the others. `fullest` is a rank to
// mark, whose stage is among those drawn.
void draw_ranks(Markup& markup, const plan::Mesh& mesh, const plan::Nodes& nodes, int fullest);

}  // namespace shoal::picture
