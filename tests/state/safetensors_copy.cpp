// safetensors_copy FROM TO [MAX_BYTES] -- reads a file or directory of tensors and writes it again: as
// one file, or with MAX_BYTES as a directory of several. Names the reason when FROM is refused.

#include <iostream>
#include <string>

#include "shoal/core/error.h"
#include "shoal/state/safetensors_index.h"

namespace {

using namespace shoal::state;  // NOLINT(google-build-using-namespace)

std::vector<TensorSpec> specs_of(const TensorDirectory& from) {
  std::vector<TensorSpec> specs;
  for (const std::string& name : from.names()) specs.push_back(*from.require(name).info);
  return specs;
}

void write(const std::filesystem::path& to,
           const std::vector<TensorSpec>& specs,
           const TensorDirectory& from) {
  SafetensorsWriter writer(to, specs, from.files().front().metadata());
  for (const TensorSpec& spec : specs) {
    const std::span<const std::byte> bytes = from.require(spec.name).bytes;
    const size_t half = bytes.size() / 3;  // in two calls, cut anywhere
    writer.write(spec.name, bytes.first(half));
    writer.write(spec.name, bytes.subspan(half));
  }
  writer.finish();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  try {
    const TensorDirectory from(argv[1]);
    const std::filesystem::path to = argv[2];
    if (argc == 3) {
      write(to, specs_of(from), from);
      return 0;
    }
    const ShardPlan plan = plan_shards(specs_of(from), std::stoull(argv[3]));
    std::filesystem::create_directory(to);
    for (const ShardFile& shard : plan.files) write(to / shard.name, shard.tensors, from);
    if (plan.files.size() > 1) write_index(to, plan);
    return 0;
  } catch (const shoal::Error& error) {
    std::cerr << error.what() << '\n';
    return static_cast<int>(error.exit_code());
  }
}
