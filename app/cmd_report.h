// cmd_report.h -- shoal report: a run as one HTML page.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

int run_report_command(const std::vector<std::string>& arguments);

}  // namespace shoal::app
