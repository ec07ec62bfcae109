// How many parameters a decoder has, and which of them decay.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/step_result.h"

namespace shoal::model {
namespace {

struct Count {
  int64_t tensors = 0;
  int64_t parameters = 0;
};

// Of what is declared: nothing has to be there for that.
Count count(const Decoder& decoder, bool decays) {
  Count found;
  for (const auto& unit : decoder.units()) {
    for (size_t i = 0; i < unit->weights().size(); ++i) {
      const WeightSpec& spec = unit->weights().spec(i);
      if (spec.decays() != decays) continue;
      int64_t elements = 1;
      for (const int64_t size : spec.local_shape()) elements *= size;
      found.tensors += 1;
      found.parameters += elements;
    }
  }
  return found;
}

// What nanoGPT prints for 12 layers, 12 heads, width 768, context 1024, 65 characters and no bias. It
// leaves positions out of its number of parameters.
TEST(Parameters, AreAsManyAsNanoGptCounts) {
  config::ModelConfig config;
  config.vocab_size = 65;
  config.bias = config::BiasOn::kNone;
  PlainBuilder builder({});
  const Decoder decoder(config, builder);
  const Count decayed = count(decoder, true);
  const Count others = count(decoder, false);
  EXPECT_EQ(decayed.tensors, 50);
  EXPECT_EQ(decayed.parameters, 85'771'008);
  EXPECT_EQ(others.tensors, 25);
  EXPECT_EQ(others.parameters, 19'200);
  EXPECT_EQ(decayed.parameters + others.parameters - 1024 * 768, 85'003'776);
}

TEST(Parameters, AreCountedWithoutWhatFillsTheFlatTensors) {
  PlainBuilder builder({});
  const auto decoder = tests::load_decoder(tests::golden_model("gpt2"), at::kFloat, builder);
  EXPECT_EQ(decoder->parameters(),
            count(*decoder, true).parameters + count(*decoder, false).parameters);
  for (const auto& unit : decoder->units()) {
    // What decays lies in front.
    int64_t decaying = 0;
    for (size_t i = 0; i < unit->weights().size(); ++i) {
      const WeightSpec& spec = unit->weights().spec(i);
      if (spec.decays()) decaying += blueprint::aligned(spec.local_elements());
    }
    for (size_t i = 0; i < unit->weights().size(); ++i) {
      EXPECT_EQ(unit->weights().weight(i).storage_offset() < decaying,
                unit->weights().spec(i).decays())
          << unit->weights().spec(i).name;
    }
  }
}

}  // namespace
}  // namespace shoal::model
