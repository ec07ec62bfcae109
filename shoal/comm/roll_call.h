// roll_call.h -- finds the missing ranks of a late collective through the store, which needs no
// collective.
#pragma once

#include <memory>

#include "shoal/cluster/store_client.h"
#include "shoal/comm/group_spec.h"

namespace shoal::comm {

std::shared_ptr<RollCall> make_roll_call(std::shared_ptr<cluster::StoreClient> store);

}  // namespace shoal::comm
