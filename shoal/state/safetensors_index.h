// safetensors_index.h -- a model in a directory, as Hugging Face lays it out: model.safetensors, or
// several files and model.safetensors.index.json, which maps tensors to files.
//
//   const TensorDirectory model("llama-3-8b");
//   const auto tensor = model.find("model.norm.weight");
//   tensor->bytes                                    // whichever file they are in
//
//   const ShardPlan plan = plan_shards(tensors, 5'000'000'000);
//   for (const ShardFile& shard : plan.files)        // SafetensorsWriter for each,
//   write_index(directory, plan);                    // and this last
//
// The files that an index names are in the same directory: names with a path are refused. Index and
// files must agree on every tensor.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/state/safetensors.h"

namespace shoal::state {

constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";

struct SafetensorsIndex {
  std::map<std::string, std::string> weight_map;  // tensor -> file
  std::optional<uint64_t> total_size;             // bytes of all tensors
};

// Parses an index. A DataError begins with `name`.
SafetensorsIndex read_safetensors_index(std::string_view json, const std::string& name);

class TensorDirectory {
 public:
  struct Found {
    const TensorInfo* info;
    std::span<const std::byte> bytes;  // valid as long as the directory
    const Safetensors* file;           // file that holds them
  };

  // Opens a directory, or one file of tensors.
  explicit TensorDirectory(const std::filesystem::path& path);

  [[nodiscard]] std::optional<Found> find(std::string_view name) const;
  [[nodiscard]] Found require(std::string_view name) const;  // throws DataError with the directory
  [[nodiscard]] std::vector<std::string> names() const;      // sorted
  [[nodiscard]] const std::vector<Safetensors>& files() const { return files_; }

 private:
  void open_indexed();

  std::filesystem::path path_;
  std::vector<Safetensors> files_;
  std::map<std::string, size_t, std::less<>> file_of_;
};

struct ShardFile {
  std::string name;
  std::vector<TensorSpec> tensors;
};

struct ShardPlan {
  std::vector<ShardFile> files;
  uint64_t total_bytes = 0;
};

// Fills files up to max_bytes of tensors in the order given; a larger tensor has a file of its own.
// A single file is model.safetensors, several are model-00001-of-00007.safetensors.
ShardPlan plan_shards(const std::vector<TensorSpec>& tensors, uint64_t max_bytes);

std::string index_json(const ShardPlan& plan);

// Writes the index of a plan of several files; a single one needs none.
void write_index(const std::filesystem::path& directory, const ShardPlan& plan);

}  // namespace shoal::state
