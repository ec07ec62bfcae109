#include "shoal/checkpoint/together.h"

#include <string>

#include "shoal/comm/texts.h"
#include "shoal/core/number_in.h"

namespace shoal::checkpoint {

void throw_first(comm::World& world, const char* what, const std::optional<DataError>& mine) {
  if (!world.control().any(mine.has_value(), what)) return;
  const std::string told =
      mine ? format("{} {}", static_cast<int>(mine->exit_code()), mine->what()) : "";
  for (const std::string& text : comm::all_texts(world, told, what)) {
    const size_t blank = text.find(' ');
    if (blank == std::string::npos) continue;
    const int code = number_in<int>(std::string_view(text).substr(0, blank)).value_or(0);
    throw DataError(text.substr(blank + 1), static_cast<ExitCode>(code));
  }
}

}  // namespace shoal::checkpoint
