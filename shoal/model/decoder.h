// decoder.h -- a decoder-only language model, or a pipeline stage of one, as a list of units.
//
//   PlainBuilder builder({.seed = 1});
//   Decoder decoder(config.model, builder, blueprint::UnitRange::all(config.model));
//   Pass pass{.tokens = tokens};
//   decoder.place(pass);
//   for (const auto& unit : decoder.units()) x = unit->forward(x, pass);
//
// The units of a stage have the names and weights that they have in the whole model. parallel/executor.h drives them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "shoal/blueprint/decoder.h"
#include "shoal/config/model_config.h"
#include "shoal/model/block.h"
#include "shoal/model/builder.h"
#include "shoal/model/unit.h"

namespace shoal::model {

class Decoder {
 public:
  // `config.vocab_size` is given.
  Decoder(const config::ModelConfig& config,
          Builder& builder,
          const blueprint::UnitRange& range,
          const MakeBlock& block = make_block);

  // What is computed beside weights: angles of rotary positions.
  void make_tables(const Materials& materials);

  [[nodiscard]] const config::ModelConfig& config() const { return config_; }
  [[nodiscard]] std::span<const std::unique_ptr<Unit>> units() const { return units_; }

  // Sets the positions and angles of a pass from its tokens and documents. `first` is the position
  // of the first token.
  void place(Pass& pass) const;

 private:
  config::ModelConfig config_;
  std::vector<std::unique_ptr<Unit>> units_;
  Angles angles_;
};

}  // namespace shoal::model
