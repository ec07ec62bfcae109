// page_style.h -- how a page looks, in light and in dark.
#pragma once

#include <string>

namespace shoal::picture {

std::string page_style();

}  // namespace shoal::picture
