// cmd_tokenizer.h
//
//   shoal tokenizer encode --tokenizer PATH [--count] [FILE]
//   shoal tokenizer decode --tokenizer PATH [FILE]
//   shoal tokenizer train --vocab-size N --output DIR FILE...
//   shoal tokenizer info --tokenizer PATH
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

int run_tokenizer(const std::vector<std::string>& arguments);

}  // namespace shoal::app
