// The weights that plan/ counts are those that a decoder declares: name, shape and what each rank has, of
// every family, whole and cut into stages, on 1 to 4 tensor-parallel ranks.

#include "shoal/plan/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/comm/world.h"
#include "shoal/config/tensor_parallel.h"

#include "tests/parallel/tensor_case.h"

namespace shoal::plan {
namespace {

std::string shown(const std::string& name,
                  const std::vector<int64_t>& shape,
                  const auto& parts,
                  int64_t elements) {
  std::string text = name;
  for (const int64_t size : shape) text += format(" {}", size);
  for (const auto& part : parts)
    text += format(" [{}+{}, {}+{}]", part.first_row, part.rows, part.first_column, part.columns);
  return text + format(" = {}", elements);
}

std::vector<std::string> declared(const model::Decoder& decoder) {
  std::vector<std::string> lines;
  for (const auto& unit : decoder.units()) {
    const model::UnitWeights& weights = unit->weights();
    lines.push_back(
        format("{} {} {}", static_cast<int>(unit->kind()), weights.name(), weights.elements()));
    for (size_t i = 0; i < weights.size(); ++i) {
      const model::WeightSpec& spec = weights.spec(i);
      lines.push_back(shown(spec.name, spec.shape, spec.parts, spec.local_elements()));
    }
  }
  return lines;
}

std::vector<std::string> counted(const std::vector<UnitParameters>& units) {
  std::vector<std::string> lines;
  for (const UnitParameters& unit : units) {
    lines.push_back(format("{} {} {}", static_cast<int>(unit.kind), unit.name, unit.elements()));
    for (const Parameter& weight : unit.weights)
      lines.push_back(shown(weight.name, weight.shape, weight.parts, weight.elements()));
  }
  return lines;
}

std::unique_ptr<model::Builder> builder_of(comm::World& world, int ranks) {
  if (ranks == 1) return std::make_unique<model::PlainBuilder>(model::BuilderOptions{});
  std::vector<int> all;
  for (int i = 0; i < ranks; ++i) all.push_back(i);
  return std::make_unique<parallel::TensorBuilder>(world.group("tp", all), model::BuilderOptions{});
}

void compare(const config::ModelConfig& config, int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    const auto world = comm::World::record(rank, ranks, nullptr);
    const auto builder = builder_of(*world, ranks);
    for (const int stages : {1, 2, 3}) {
      for (const Stage& stage : cut_into_stages(config.layers, stages)) {
        const model::Decoder decoder(config, *builder,
                                     {.first_block = stage.first_block,
                                      .blocks = stage.blocks,
                                      .embedding = stage.embedding,
                                      .head = stage.head});
        EXPECT_EQ(counted(parameters_of(config, stage, {ranks, rank})), declared(decoder));
      }
    }
  }
}

TEST(PlannedParameters, AreThoseOfTheDecoder) {
  int compared = 0;
  for (const char* family : {"gpt2", "gpt", "llama", "qwen2", "qwen3", "olmo2"}) {
    for (const bool tied : {false, true}) {
      for (int ranks = 1; ranks <= 4; ++ranks) {
        SCOPED_TRACE(format("{} on {} ranks{}", family, ranks, tied ? ", tied" : ""));
        config::ModelConfig config = tests::tensor_config(family);
        config.tied = tied;
        ASSERT_FALSE(config::why_not_tensor_parallel(config, ranks));
        compare(config, ranks);
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 48);
}

TEST(PlannedParameters, HaveSharedHeadsAndPlainNorms) {
  const config::ModelConfig llama = tests::tensor_config("llama");
  compare(tests::with_heads(llama, 7, 1, 6), 4);
  compare(tests::with_heads(llama, 8, 2, 6), 4);
  config::ModelConfig plain = llama;
  plain.norm = config::NormKind::kPlain;
  plain.activation = config::Activation::kGelu;
  compare(plain, 3);
}

}  // namespace
}  // namespace shoal::plan
