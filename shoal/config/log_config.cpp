#include "shoal/config/log_config.h"

#include "shoal/config/field_list.h"

namespace shoal::config {

void list_fields(LogConfig& config, FieldList& list) {
  list.add("level", config.level, "the least important lines that are printed");
  list.add("all_ranks", config.all_ranks,
           "print debug and info from every rank, not only from rank 0");
}

}  // namespace shoal::config
