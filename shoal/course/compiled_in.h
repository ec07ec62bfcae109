// compiled_in.h -- texts and exercise files of the labs, as CMake has found them in course/.
#pragma once

#include <span>
#include <string_view>

namespace shoal::course {

struct CompiledIn {
  int lab = 1;
  std::string_view name{};
  std::string_view content{};
};

std::span<const CompiledIn> compiled_in();

}  // namespace shoal::course
