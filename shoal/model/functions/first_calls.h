// first_calls.h -- what has to be called on one thread before several do.
#pragma once

namespace shoal::model {

// The vector functions of MKL choose their code when they are first called. Where two threads make that call together, one of
// them computes its part with other code: of runs on two threads one in sixty had a first loss that differed by 7e-13 in fp64,
// and none of 700 after a call by one thread. Does nothing from the second time on.
void make_first_calls();

}  // namespace shoal::model
