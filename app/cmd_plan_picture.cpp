#include "app/cmd_plan_picture.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "shoal/core/files.h"
#include "shoal/picture/neighbours.h"
#include "shoal/picture/page.h"
#include "shoal/picture/short_form.h"

namespace shoal::app {
namespace {

// The first of these variables that is set says which characters a terminal has.
bool is_utf8_terminal() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string locale(value);
    std::transform(locale.begin(), locale.end(), locale.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace

std::string lines_of(const picture::PlanFacts& facts) {
  return picture::short_form(facts, {.blocks = is_utf8_terminal()});
}

size_t write_page(const std::string& path,
                  const picture::PlanFacts& facts,
                  const picture::StepRecorder& recorder) {
  const std::string page = picture::page(facts, recorder, picture::recompute_neighbours(facts));
  write_file_atomically(path, page);
  return page.size();
}

}  // namespace shoal::app
