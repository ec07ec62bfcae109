// record.h -- a transport that simulates any number of ranks in one process: calls complete at once
// and move nothing. Private to comm/.
//
// With tensors on the meta device a whole step of a 16,384-rank job runs in milliseconds; a
// CallListener records what it would have sent.
#pragma once

#include <memory>

namespace shoal::comm {

class Transport;

std::unique_ptr<Transport> make_record_transport();

}  // namespace shoal::comm
