#include "shoal/state/checkpoint_manifest.h"

#include <cerrno>

#include <sys/random.h>

#include "shoal/core/error.h"
#include "shoal/core/json_text.h"
#include "shoal/state/manifest_fields.h"

namespace shoal::state {
namespace {

constexpr uint64_t kVersion = 2;

// The last field is the digest of every byte before its own 32 digits.
constexpr std::string_view kBeforeDigest = ",\n \"digest\": \"";
constexpr std::string_view kAfterDigest = "\"}\n";
constexpr size_t kDigestDigits = 32;

void check_digest(std::string_view json) {
  const size_t tail = kBeforeDigest.size() + kDigestDigits + kAfterDigest.size();
  if (json.size() < tail ||
      json.substr(json.size() - tail, kBeforeDigest.size()) != kBeforeDigest ||
      json.substr(json.size() - kAfterDigest.size()) != kAfterDigest)
    throw DataError("it does not end with its digest: torn, or not a manifest");
  const size_t at = json.size() - kAfterDigest.size() - kDigestDigits;
  if (json.substr(at, kDigestDigits) != xxh3_128(json.substr(0, at)).hex())
    throw DataError("it is damaged: its digest does not hold");
}

std::string id_from(const json::Fields& root) {
  std::string id = root.text("id");
  if (id.size() != kDigestDigits || id.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw DataError("manifest.id is not made of 32 hex digits");
  return id;
}

CheckpointManifest manifest_from(std::string_view text) {
  check_digest(text);
  const json::Document document(text);
  const json::Fields root(document.root(), "manifest");
  if (root.text("format") != kCheckpointFormat)
    throw DataError("it is not the manifest of a checkpoint");
  const uint64_t version = root.number("version");
  if (version != kVersion)
    throw DataError(format("it is of version {}, this shoal reads {}", version, kVersion));
  CheckpointManifest manifest;
  manifest.id = id_from(root);
  manifest.step = limited_number(root, "step", kMaxStep);
  const json::Fields values = root.object("values");
  for (const std::string& key : values.keys()) manifest.values.emplace(key, values.text(key));
  manifest.files = files_from(root);
  manifest.tensors = tensors_from(root);
  return manifest;
}

}  // namespace

std::string new_checkpoint_id() {
  Hash128 random;
  if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random))
    throw DataError(format("cannot get random bytes: {}", describe_errno(errno)));
  return random.hex();
}

std::string to_json(const CheckpointManifest& manifest) {
  std::string values;
  for (const auto& [key, value] : manifest.values)
    values += format("{}\n  {}: {}", values.empty() ? "" : ",", json::in_quotes(key),
                     json::in_quotes(value));
  std::string text = format(
      "{{\"format\": \"{}\", \"version\": {}, \"id\": \"{}\", \"step\": {},\n"
      " \"values\": {{{}}},\n {}",
      kCheckpointFormat, kVersion, manifest.id, manifest.step, values,
      fields_of(manifest.files, manifest.tensors));
  text += kBeforeDigest;
  text += xxh3_128(text).hex();
  return text.append(kAfterDigest);
}

CheckpointManifest manifest_from_json(std::string_view json, const std::string& name) {
  return json::named(name, [&] { return manifest_from(json); });
}

}  // namespace shoal::state
