// leave_one_out.h -- step times that are predicted with what other runs on the same machine reached of its peaks.
//
//   const Score score = score_leaving_one_out(machine, published.rows);
//
// Each row's prediction uses the shares of the peak and of the bandwidth that fit all other rows best: no
// figure is taken from the row itself.
#pragma once

#include <vector>

#include "shoal/score/machines.h"

namespace shoal::score {

// Compares the rows of time_group(machine). The rows have to live as long as the score.
Score score_leaving_one_out(const Machine& machine, const std::vector<PublishedRow>& rows);

}  // namespace shoal::score
