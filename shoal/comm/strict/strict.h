// strict.h -- a transport with the rules of NCCL and none of Gloo's leniency, for finding faults without a GPU.
// Private to comm/.
//
// Gloo matches messages by tag, buffers small ones, runs collectives beside each other, and often completes a call
// before anybody waits for it. A program that leans on any of this trains well here and hangs, or is wrong, on GPUs.
// The strict transport runs over Gloo and takes all of it away:
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

// `inner` moves the bytes.
std::unique_ptr<Transport> make_strict_transport(std::unique_ptr<Transport> inner,
                                                 ActivityBoard* board);

}  // namespace shoal::comm
