// Any bytes as the manifest of a checkpoint, with a digest that holds, and as a rank's report: read or
// refused with a DataError. What can be read is the same when it is written and read again.

#include <string>
#include <string_view>

#include "shoal/core/checksum.h"
#include "shoal/core/error.h"
#include "shoal/state/checkpoint_manifest.h"
#include "shoal/state/part_report.h"

#include "tests/fuzz/require.h"

namespace {

using namespace shoal::state;  // NOLINT(google-build-using-namespace)
using shoal::tests::read_or_refuse;
using shoal::tests::require;

// Behind the fields of an object, whose last brace is left out: nobody guesses a digest.
std::string with_digest(std::string_view input) {
  std::string text(input.substr(0, input.rfind('}')));
  text += ",\n \"digest\": \"";
  return text + shoal::xxh3_128(text).hex() + "\"}\n";
}

void check_manifest(const std::string& json) {
  const auto manifest = read_or_refuse([&] { return manifest_from_json(json, "m"); });
  if (!manifest) return;
  require(manifest_from_json(to_json(*manifest), "again") == *manifest);
  for (const DataFile& file : manifest->files) {
    require(file.header_bytes <= file.bytes);
    require(file.name.find('/') == std::string::npos);
  }
  for (const TensorSpec& tensor : manifest->tensors)
    require(checked_bytes(tensor.dtype, tensor.shape).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check_manifest(std::string(input));
  check_manifest(with_digest(input));
  const auto report = read_or_refuse([&] { return part_report_from_json(input, "p"); });
  if (!report) return 0;
  require(part_report_from_json(to_json(*report), "again") == *report);
  (void)read_or_refuse([&] { return join({*report, *report}); });
  return 0;
}
