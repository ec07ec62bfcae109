#include "shoal/state/safetensors_index.h"

#include <algorithm>
#include <set>

#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/json_fields.h"
#include "shoal/core/json_text.h"

namespace shoal::state {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxIndexBytes = size_t{256} << 20;
constexpr size_t kMaxFiles = 100'000;

// A name of a file in this very directory.
bool is_plain_file_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name.front() != '.' &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

SafetensorsIndex index_from(std::string_view text) {
  const json::Document document(text);
  const json::Fields root(document.root(), "index");
  SafetensorsIndex index;
  if (root.find("metadata")) {
    const json::Fields metadata = root.object("metadata");
    if (metadata.find("total_size")) index.total_size = metadata.number("total_size");
  }
  const json::Fields map = root.object("weight_map");
  for (const std::string& name : map.keys()) {
    if (!is_tensor_name(name))
      throw DataError(format("a tensor's name has {} bytes or a zero byte", name.size()));
    const std::string file = map.text(name);
    if (!is_plain_file_name(file))
      throw DataError(format("tensor {} is in {}, which is not the name of a file here",
                             json::in_quotes(name), json::in_quotes(file)));
    index.weight_map.emplace(name, file);
  }
  return index;
}

std::string shard_name(size_t index, size_t count) {
  if (count == 1) return kModelFile;
  return format("model-{:05}-of-{:05}.safetensors", index + 1, count);
}

}  // namespace

SafetensorsIndex read_safetensors_index(std::string_view json, const std::string& name) {
  return json::named(name, [&] { return index_from(json); });
}

TensorDirectory::TensorDirectory(const fs::path& path) : path_(path) {
  std::error_code cannot_tell;
  const bool is_directory = fs::is_directory(path, cannot_tell);
  const fs::path single = is_directory ? path / kModelFile : path;
  if (is_directory && !fs::exists(single, cannot_tell)) {
    if (!fs::exists(path / kIndexFile, cannot_tell))
      throw DataError(format("{} has neither {} nor {}", path.string(), kModelFile, kIndexFile));
    open_indexed();
    return;
  }
  files_.emplace_back(single);
  for (const TensorInfo& tensor : files_.front().tensors()) file_of_.emplace(tensor.name, 0);
}

void TensorDirectory::open_indexed() {
  const fs::path index_path = path_ / kIndexFile;
  const SafetensorsIndex index =
      read_safetensors_index(read_file(index_path, kMaxIndexBytes), index_path.string());
  std::set<std::string> names;
  for (const auto& [tensor, file] : index.weight_map) names.insert(file);
  if (names.size() > kMaxFiles)
    throw DataError(format("{} names {} files, at most {} are opened", index_path.string(),
                           names.size(), kMaxFiles));
  uint64_t total = 0;
  for (const std::string& file : names) {
    files_.emplace_back(path_ / file);
    for (const TensorInfo& tensor : files_.back().tensors()) {
      const auto entry = index.weight_map.find(tensor.name);
      if (entry == index.weight_map.end() || entry->second != file)
        throw DataError(format("{} holds tensor {}, but {} does not say so",
                               (path_ / file).string(), json::in_quotes(tensor.name), kIndexFile));
      file_of_.emplace(tensor.name, files_.size() - 1);
      total += tensor.bytes;
    }
  }
  for (const auto& [tensor, file] : index.weight_map) {
    if (file_of_.count(tensor) == 0)
      throw DataError(format("{} has no tensor {}, but {} says so", (path_ / file).string(),
                             json::in_quotes(tensor), kIndexFile));
  }
  if (index.total_size && *index.total_size != total)
    throw DataError(format("{}: total_size is {}, but its tensors have {} bytes",
                           index_path.string(), *index.total_size, total));
}

std::optional<TensorDirectory::Found> TensorDirectory::find(std::string_view name) const {
  const auto found = file_of_.find(name);
  if (found == file_of_.end()) return std::nullopt;
  const Safetensors& file = files_[found->second];
  const TensorInfo* const info = file.find(name);
  return Found{info, file.bytes(*info), &file};
}

TensorDirectory::Found TensorDirectory::require(std::string_view name) const {
  const std::optional<Found> found = find(name);
  if (!found) throw DataError(format("{} has no tensor {}", path_.string(), json::in_quotes(name)));
  return *found;
}

std::vector<std::string> TensorDirectory::names() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : file_of_) names.push_back(name);
  return names;
}

ShardPlan plan_shards(const std::vector<TensorSpec>& tensors, uint64_t max_bytes) {
  ShardPlan plan;
  std::vector<TensorSpec> open;  // the file being filled
  uint64_t open_bytes = 0;
  const auto close = [&] {
    if (!open.empty()) plan.files.push_back({"", std::exchange(open, {})});
    open_bytes = 0;
  };
  for (const TensorSpec& tensor : tensors) {
    const uint64_t bytes = tensor_bytes(tensor.dtype, tensor.shape);
    plan.total_bytes += bytes;
    if (bytes > max_bytes) {  // alone, while the file being filled stays open
      plan.files.push_back({"", {tensor}});
      continue;
    }
    if (bytes > max_bytes - open_bytes) close();
    open.push_back(tensor);
    open_bytes += bytes;
  }
  close();
  if (plan.files.empty()) plan.files.emplace_back();
  for (size_t i = 0; i < plan.files.size(); ++i)
    plan.files[i].name = shard_name(i, plan.files.size());
  return plan;
}

std::string index_json(const ShardPlan& plan) {
  std::map<std::string, std::string> weight_map;
  for (const ShardFile& shard : plan.files) {
    for (const TensorSpec& tensor : shard.tensors) weight_map.emplace(tensor.name, shard.name);
  }
  std::string lines;
  for (const auto& [tensor, file] : weight_map)
    lines += format("{}\n    {}: {}", lines.empty() ? "" : ",", json::in_quotes(tensor),
                    json::in_quotes(file));
  return format(
      "{{\n  \"metadata\": {{\n    \"total_size\": {}\n  }},\n  \"weight_map\": {{{}\n  }}\n}}\n",
      plan.total_bytes, lines);
}

void write_index(const fs::path& directory, const ShardPlan& plan) {
  SHOAL_CHECK(plan.files.size() > 1, "a single file needs no index");
  write_file_atomically(directory / kIndexFile, index_json(plan));
}

}  // namespace shoal::state
