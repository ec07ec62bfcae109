// bench_loader.h -- shoal bench loader.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

int run_bench_loader(const std::vector<std::string>& arguments);

}  // namespace shoal::app
