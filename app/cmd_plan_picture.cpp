#include "app/cmd_plan_picture.h"

#include <unistd.h>

#include "shoal/core/console.h"
#include "shoal/core/files.h"
#include "shoal/picture/neighbours.h"
#include "shoal/picture/page.h"
#include "shoal/picture/short_form.h"

namespace shoal::app {
std::string lines_of(const picture::PlanFacts& facts) {
  return picture::short_form(facts, {.blocks = console_of(STDOUT_FILENO).utf8});
}

size_t write_page(const std::string& path,
                  const picture::PlanFacts& facts,
                  const picture::StepRecorder& recorder) {
  const std::string page = picture::page(facts, recorder, picture::recompute_neighbours(facts));
  write_file_atomically(path, page);
  return page.size();
}

}  // namespace shoal::app
