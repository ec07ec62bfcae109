// bench_tokenizer.h -- shoal bench tokenizer: how fast text becomes ids. Needs no torch.
#pragma once

#include <string>
#include <vector>

namespace shoal::app {

int run_bench_tokenizer(const std::vector<std::string>& arguments);

}  // namespace shoal::app
