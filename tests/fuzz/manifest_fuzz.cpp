// Any bytes as manifest.json and as the file of a part: read or refused with a DataError. What can be
// read is the same when it is written and read again.

#include <string>
#include <string_view>

#include "shoal/core/error.h"
#include "shoal/data/shards/manifest.h"

#include "tests/fuzz/require.h"

namespace {

using namespace shoal::data;  // NOLINT(google-build-using-namespace)
using shoal::tests::read_or_refuse;
using shoal::tests::require;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  if (const auto part = read_or_refuse([&] { return part_from_json(json, "part-00000.json"); }))
    require(part_from_json(to_json(*part), "again") == *part);
  if (const auto manifest = read_or_refuse([&] { return manifest_from_json(json, kManifestFile); }))
    require(to_json(manifest_from_json(to_json(*manifest), "again")) == to_json(*manifest));
  return 0;
}
