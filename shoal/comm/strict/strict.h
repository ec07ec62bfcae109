// strict.h -- a transport that enforces the rules of NCCL over Gloo, to find faults without a GPU.
// Private to comm/.
//
// Gloo matches messages by tag, buffers small ones, runs collectives concurrently, and often
// completes a call before anybody waits for it. A program that relies on any of this trains well on
// Gloo and hangs, or computes wrong results, on GPUs. The strict transport runs over Gloo and
// removes all of it:
//
//   order       one worker per group runs calls one after the other, in the order in which they were made
//   rendezvous  a send is over when the peer has received it; there are no tags, and a message that meets a receive
//               with another tag, size or type is a BugError
//   agreement   members of a group that make different collectives at the same point are a BugError
//   lifetime    results arrive when they are waited for, not before: until then they read as NaN. Whoever writes to a
//               tensor between the call and the wait is a BugError
//   device      tensors of another device than the transport's are a BugError
#pragma once

#include <memory>

#include "shoal/comm/transport.h"
#include "shoal/core/activity.h"

namespace shoal::comm {

// Returns a strict transport; `inner` moves the bytes.
std::unique_ptr<Transport> make_strict_transport(std::unique_ptr<Transport> inner,
                                                 ActivityBoard* board);

}  // namespace shoal::comm
