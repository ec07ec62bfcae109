// token_id.h -- the number of a token in its vocabulary.
#pragma once

#include <cstdint>

namespace shoal::data {

using TokenId = uint32_t;

}  // namespace shoal::data
