// weights.h -- the weights of a model by shoal's names and in fp32, wherever they lie and in whatever type.
//
//   const CheckpointWeights weights(checkpoint, specs);
//   weights.read(specs.front(), {{0, 0}, {64, 768}}, numbers);        // its first 64 rows
//
// `specs` are all weights of the model, with their names and shapes (blueprint/decoder.h lists them). A
// source that was made has each of them in that shape. Reading takes no more memory than what is read.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "shoal/core/box.h"
#include "shoal/state/checkpoint.h"
#include "shoal/state/hugging_face/config_json.h"
#include "shoal/state/hugging_face/names.h"

namespace shoal::state {

class WeightSource {
 public:
  WeightSource() = default;
  WeightSource(const WeightSource&) = delete;
  WeightSource& operator=(const WeightSource&) = delete;
  virtual ~WeightSource() = default;

  virtual void read(const TensorSpec& weight, const Box& box, std::span<float> out) const = 0;
};

// Of a run: what a checkpoint holds as weights.NAME. DataError when one is missing or has another shape.
class CheckpointWeights final : public WeightSource {
 public:
  CheckpointWeights(const Checkpoint& checkpoint, const std::vector<TensorSpec>& weights);

  void read(const TensorSpec& weight, const Box& box, std::span<float> out) const override;

 private:
  const Checkpoint& checkpoint_;
};

std::string name_in_checkpoint(const std::string& weight);  // "weights.NAME"

// Of a directory of Hugging Face's. Also DataError when a tensor in it is none of the model's.
class HuggingFaceWeights final : public WeightSource {
 public:
  HuggingFaceWeights(const std::filesystem::path& directory,
                     const HuggingFaceModel& model,
                     const std::vector<TensorSpec>& weights);

  void read(const TensorSpec& weight, const Box& box, std::span<float> out) const override;

 private:
  // A tensor of theirs, as rows of one of ours.
  struct Part {
    int64_t first_row = 0;
    int64_t rows = 0;
    bool transposed = false;
    TensorDirectory::Found found;
  };

  TensorDirectory files_;
  std::map<std::string, std::vector<Part>, std::less<>> parts_of_;
};

}  // namespace shoal::state
