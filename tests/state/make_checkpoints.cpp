// make_checkpoints ROOT STEP...: checkpoints with a tensor each, for tests of commands that look at them.

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "shoal/state/checkpoint_writer.h"

int main(int argc, char** argv) {
  try {
    for (int i = 2; i < argc; ++i) {
      const std::string text = argv[i];
      const auto size = static_cast<int64_t>(text.size());
      shoal::state::CheckpointWriter writer(
          argv[1], std::strtoull(argv[i], nullptr, 10),
          {{{"t", shoal::state::DType::kU8, {size}}, {{0}, {size}}}});
      writer.write(std::as_bytes(std::span(text)));
      writer.commit({{"text", text}});
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
