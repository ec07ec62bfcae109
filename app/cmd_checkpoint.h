// cmd_checkpoint.h
//
//   shoal checkpoint inspect PATH [--tensors] [--value KEY]
//   shoal checkpoint verify PATH
//   shoal checkpoint diff FIRST SECOND [--only PREFIX]
//   shoal checkpoint prune RUN --keep K [--every N] [--dry-run]
//   shoal checkpoint export MODEL --output DIR [--dtype TYPE]
//   shoal checkpoint import MODEL --output RUN
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

int run_checkpoint(const std::vector<std::string>& arguments);

}  // namespace shoal::app
