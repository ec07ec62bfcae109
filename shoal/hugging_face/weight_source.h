// weight_source.h -- the weights of a model by shoal's names and in fp32, from any source and type.
//
//   const CheckpointWeights weights(checkpoint, specs);
//   weights.read(specs.front(), {{0, 0}, {64, 768}}, numbers);        // its first 64 rows
//
// `specs` are all weights of the model, with their names and shapes (blueprint/decoder.h lists
// them). Constructing a source checks that it has each of them in that shape. Reading takes no more
// memory than what is read.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "shoal/core/box.h"
#include "shoal/hugging_face/config_json.h"
#include "shoal/hugging_face/names.h"
#include "shoal/state/checkpoint.h"

namespace shoal::hugging_face {

class WeightSource {
 public:
  WeightSource() = default;
  WeightSource(const WeightSource&) = delete;
  WeightSource& operator=(const WeightSource&) = delete;
  virtual ~WeightSource() = default;

  virtual void read(const state::TensorSpec& weight,
                    const Box& box,
                    std::span<float> out) const = 0;
};

// The weights of a run's checkpoint, stored as weights.NAME. Throws DataError when one is missing
// or has another shape.
class CheckpointWeights final : public WeightSource {
 public:
  CheckpointWeights(const state::Checkpoint& checkpoint,
                    const std::vector<state::TensorSpec>& weights);

  void read(const state::TensorSpec& weight, const Box& box, std::span<float> out) const override;

 private:
  const state::Checkpoint& checkpoint_;
};

// The weights of a Hugging Face directory. Also throws DataError for a tensor that is none of the
// model's.
class DirectoryWeights final : public WeightSource {
 public:
  DirectoryWeights(const std::filesystem::path& directory,
                   const DescribedModel& model,
                   const std::vector<state::TensorSpec>& weights);

  void read(const state::TensorSpec& weight, const Box& box, std::span<float> out) const override;

 private:
  // A tensor of the directory, as rows of one of shoal's.
  struct Rows {
    int64_t first_row = 0;
    int64_t rows = 0;
    bool transposed = false;
    state::TensorDirectory::Found found;
  };

  state::TensorDirectory files_;
  std::map<std::string, std::vector<Rows>, std::less<>> rows_of_;
};

}  // namespace shoal::hugging_face
