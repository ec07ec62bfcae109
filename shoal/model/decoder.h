// decoder.h -- a decoder-only language model, as a list of units.
//
//   PlainBuilder builder({.seed = 1});
//   Decoder decoder(config.model, builder);
//   decoder.materialize({.dtype = at::kBFloat16, .seed = 1});
//   Pass pass{.tokens = tokens};
//   decoder.place(pass);
//   const at::Tensor scores = decoder.forward(pass);
//
// Training drives the units one by one instead (parallel/executor.h). A part of a decoder has the same units
// with the others missing, and their names and weights are the same: a pipeline stage.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "shoal/blueprint/decoder.h"
#include "shoal/config/model_config.h"
#include "shoal/model/builder.h"
#include "shoal/model/unit.h"

namespace shoal::model {

class Decoder {
 public:
  // `config.vocab_size` is given.
  Decoder(const config::ModelConfig& config, Builder& builder);
  Decoder(const config::ModelConfig& config, Builder& builder, const blueprint::UnitRange& range);

  // New weights everywhere, and the tables.
  void materialize(const Materials& materials);
  // What is computed beside weights: angles of rotary positions.
  void make_tables(const Materials& materials);

  [[nodiscard]] const config::ModelConfig& config() const { return config_; }
  [[nodiscard]] std::span<const std::unique_ptr<Unit>> units() const { return units_; }
  [[nodiscard]] int64_t parameters() const;

  // Adds to a pass with tokens and documents what follows from them: positions and angles. `first` is
  // the position of the first token.
  void place(Pass& pass, int64_t first = 0) const;

  // Through all units; of a decoder that begins with its embedding.
  at::Tensor forward(const Pass& pass) const;

 private:
  config::ModelConfig config_;
  std::vector<std::unique_ptr<Unit>> units_;
  Angles angles_;
};

}  // namespace shoal::model
