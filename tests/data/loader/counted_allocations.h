// counted_allocations.h -- how often this test program has called operator new.
#pragma once

#include <cstdint>

uint64_t allocations_so_far();
