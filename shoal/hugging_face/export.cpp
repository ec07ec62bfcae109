#include "shoal/hugging_face/export.h"

#include <algorithm>
#include <map>

#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/state/float_types.h"
#include "shoal/state/safetensors_index.h"

namespace shoal::hugging_face {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kTransposedBlocks = 16;  // at once: a matrix of so many is read once
constexpr size_t kStrip = 16;               // of their rows

// A tensor of theirs, as the part of a weight that it is.
struct Exported {
  const state::TensorSpec* weight = nullptr;  // nullptr: zeros
  int64_t first_row = 0;
  bool transposed = false;
  Shape shape;
};

using ExportedByName = std::map<std::string, Exported>;

ExportedByName exported(const std::vector<state::TensorSpec>& specs,
                        Family family,
                        const config::ModelConfig& config) {
  ExportedByName all;
  for (const state::TensorSpec& weight : specs) {
    const ForeignTensor foreign = foreign_tensor(family, config, weight.name);
    int64_t row = 0;
    for (const ForeignPart& part : foreign.parts) {
      Shape shape = weight.shape;
      if (foreign.parts.size() > 1) shape[0] = part.rows;
      const int64_t rows = shape[0];
      if (foreign.transposed) std::reverse(shape.begin(), shape.end());
      all[part.name] = {&weight, row, foreign.transposed, shape};
      row += rows;
    }
  }
  return all;
}

// GPT-2's files always have biases: those of a model without are zeros.
void add_zero_biases(ExportedByName& all) {
  constexpr std::string_view kEnd = ".weight";
  ExportedByName biases;
  for (const auto& [name, tensor] : all) {
    if (name.find(".h.") == std::string::npos && name.find(".ln_f.") == std::string::npos) continue;
    const std::string bias = name.substr(0, name.size() - kEnd.size()) + ".bias";
    // Matrices are transposed there: the outputs are the last dimension, as they are a norm's only one.
    biases[bias].shape = {tensor.shape.back()};
  }
  all.merge(biases);
}

std::string_view dtype_in_config(state::DType type) {
  switch (type) {
    case state::DType::kF32:
      return "float32";
    case state::DType::kBf16:
      return "bfloat16";
    case state::DType::kF16:
      return "float16";
    default:
      throw BugError(format("an export as {}", state::dtype_name(type)));
  }
}

class TensorCopy {
 public:
  TensorCopy(const WeightSource& source,
             const ExportOptions& options,
             state::SafetensorsWriter& writer,
             state::Progress& progress)
      : source_(source), options_(options), writer_(writer), progress_(progress) {}

  void copy(const std::string& name, const Exported& tensor) {
    for_each_block(tensor.shape, options_.block * (tensor.transposed ? kTransposedBlocks : 1),
                   [&](const Box& block) {
                     // Growing would hold the old block beside the new one.
                     if (numbers_.capacity() < elements_of(block)) numbers_ = std::vector<float>();
                     numbers_.assign(elements_of(block), 0);
                     if (tensor.transposed) {
                       copy_transposed(name, tensor, block);
                     } else {
                       copy_straight(name, tensor, block);
                     }
                   });
  }

 private:
  void copy_straight(const std::string& name, const Exported& tensor, Box block) {
    block.begin[0] += tensor.first_row;
    if (tensor.weight != nullptr) source_.read(*tensor.weight, block, numbers_);
    write(name, numbers_);
  }

  void copy_transposed(const std::string& name, const Exported& tensor, const Box& block) {
    const auto rows = static_cast<size_t>(block.extent[0]);
    const auto columns = static_cast<size_t>(block.extent[1]);
    source_.read(
        *tensor.weight,
        {{tensor.first_row + block.begin[1], block.begin[0]}, {block.extent[1], block.extent[0]}},
        numbers_);
    std::vector<float> strip;
    for (size_t first = 0; first < rows; first += kStrip) {
      const size_t height = std::min(kStrip, rows - first);
      strip.resize(height * columns);
      for (size_t column = 0; column < columns; ++column) {
        for (size_t row = 0; row < height; ++row)
          strip[row * columns + column] = numbers_[column * rows + first + row];
      }
      write(name, strip);
    }
  }

  void write(const std::string& name, std::span<const float> numbers) {
    bytes_.resize(numbers.size() * state::element_bytes(options_.dtype));
    state::from_fp32(numbers, options_.dtype, bytes_);
    writer_.write(name, bytes_);
    progress_.done += bytes_.size();
  }

  const WeightSource& source_;
  const ExportOptions& options_;
  state::SafetensorsWriter& writer_;
  state::Progress& progress_;
  std::vector<float> numbers_;
  std::vector<std::byte> bytes_;
};

// Removes the file of an earlier export with another number of files: readers would take it for
// this one's.
void remove_stale(const fs::path& directory, const state::ShardPlan& plan) {
  const fs::path stale =
      directory / (plan.files.size() > 1 ? state::kModelFile : state::kIndexFile);
  std::error_code error;
  fs::remove(stale, error);
  if (error) throw DataError(format("cannot remove {}: {}", stale.string(), error.message()));
}

}  // namespace

void export_model(const WeightSource& source,
                  const config::ModelConfig& config,
                  const std::vector<state::TensorSpec>& specs,
                  const fs::path& directory,
                  const ExportOptions& options,
                  state::Progress& progress) {
  const Family family = family_of(config);
  ExportedByName tensors = exported(specs, family, config);
  if (family == Family::kGpt2 && config.bias == config::BiasOn::kNone) add_zero_biases(tensors);
  std::vector<state::TensorSpec> files_specs;
  for (const auto& [name, tensor] : tensors)
    files_specs.push_back({name, options.dtype, tensor.shape});
  const state::ShardPlan plan = state::plan_shards(files_specs, options.max_file_bytes);
  progress.total = plan.total_bytes;
  for (const state::ShardFile& file : plan.files) {
    state::SafetensorsWriter writer(directory / file.name, file.tensors, {{"format", "pt"}});
    TensorCopy copy(source, options, writer, progress);
    for (const state::TensorSpec& spec : file.tensors) copy.copy(spec.name, tensors.at(spec.name));
    writer.finish();
  }
  if (plan.files.size() > 1) state::write_index(directory, plan);
  remove_stale(directory, plan);
  write_file_atomically(directory / kConfigJson,
                        write_config_json({family, config}, dtype_in_config(options.dtype)));
}

}  // namespace shoal::hugging_face
