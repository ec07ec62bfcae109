// gloo.h -- CPU collectives over TCP. Private to comm/.
#pragma once

#include <memory>
#include <string>

#include "shoal/cluster/store_client.h"
#include "shoal/core/activity.h"
#include "shoal/core/quantities.h"

namespace shoal::comm {

class Transport;

struct GlooOptions {
  std::shared_ptr<cluster::StoreClient> store;
  std::string address;  // address that this rank listens on and its peers connect to
  Duration deadline{};
  bool abortable = false;  // whether break_off() is called
  ActivityBoard* board = nullptr;
};

std::unique_ptr<Transport> make_gloo_transport(const GlooOptions& options);

}  // namespace shoal::comm
