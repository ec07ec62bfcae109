// manual_page.h -- manual pages in the language of man(7).
//
//   shoal train --man | man -l -
#pragma once

#include <string>
#include <string_view>

#include "app/command_text.h"

namespace shoal::app {

inline constexpr std::string_view kManualWord = "--man";

std::string manual_page(const CommandText& command);

// Returns text in which man(7) finds nothing to obey.
std::string escaped_for_man(const std::string& text);

}  // namespace shoal::app
