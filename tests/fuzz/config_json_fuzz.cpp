// Any bytes as a config.json of Hugging Face: refused with a DataError, or read as a model that a family
// has, and the same when written and read again.

#include <string>
#include <string_view>

#include "shoal/hugging_face/config_json.h"

#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal::hugging_face;  // NOLINT(google-build-using-namespace)
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto model = shoal::tests::read_or_refuse([&] { return read_config_json(input, "x"); });
  if (!model) return 0;
  const std::string json = write_config_json(*model, "float32");
  shoal::tests::require(write_config_json(read_config_json(json, "again"), "float32") == json);
  return 0;
}
