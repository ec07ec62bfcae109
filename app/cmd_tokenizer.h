// cmd_tokenizer.h
//
//   shoal tokenizer encode --tokenizer PATH [--count] [FILE]
//   shoal tokenizer decode --tokenizer PATH [FILE]
//   shoal tokenizer train --vocab-size N --output DIR FILE...
//   shoal tokenizer info --tokenizer PATH
#pragma once

#include <string>
#include <vector>

#include "shoal/data/tokenizer/split.h"

namespace shoal::app {

// What --pattern names. UsageError when it is no pattern of a BPE.
data::Pattern pattern_option(const std::string& name);

int run_tokenizer(const std::vector<std::string>& arguments);

}  // namespace shoal::app
