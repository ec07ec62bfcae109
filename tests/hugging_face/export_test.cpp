// Weights from Hugging Face's own files, through a checkpoint in any pieces, and back into files: the same
// names, shapes and bits, however little is in memory at a time.

#include "shoal/hugging_face/export.h"

#include <cstdlib>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/blueprint/decoder.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/state/float_types.h"
#include "shoal/state/safetensors_index.h"

#include "tests/state/write_checkpoint.h"
#include "tests/support/error_text.h"
#include "tests/support/temp_dir.h"

namespace shoal::hugging_face {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using tests::error_text;
using tests::TempDir;

constexpr size_t kMaxBytes = size_t{1} << 30;

fs::path golden_model(const std::string& name) {
  const char* const source = std::getenv("SHOAL_SOURCE_DIR");
  SHOAL_CHECK(source != nullptr, "SHOAL_SOURCE_DIR is not set");
  return fs::path(source) / "tests" / "golden" / "models" / name;
}

std::vector<state::TensorSpec> specs_of(const config::ModelConfig& model) {
  std::vector<state::TensorSpec> specs;
  for (const auto& unit : blueprint::units_of(model, blueprint::UnitRange::all(model))) {
    for (const auto& weight : unit.weights)
      specs.push_back({weight.name, state::DType::kF32, weight.shape});
  }
  return specs;
}

// The weights as tensors of a checkpoint, in that type.
std::vector<state::PlainTensor> as_tensors(const WeightSource& source,
                                           const std::vector<state::TensorSpec>& specs,
                                           state::DType type,
                                           state::Random& random) {
  std::vector<state::PlainTensor> tensors;
  for (const state::TensorSpec& spec : specs) {
    std::vector<float> numbers(elements_of(whole_of(spec.shape)));
    source.read(spec, whole_of(spec.shape), numbers);
    state::PlainTensor tensor({state::name_in_checkpoint(spec.name), type, spec.shape}, random);
    state::from_fp32(numbers, type, tensor.bytes);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

void expect_same_files(const fs::path& a, const fs::path& b) {
  size_t files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(a)) {
    const fs::path name = entry.path().filename();
    EXPECT_EQ(read_file(entry.path(), kMaxBytes), read_file(b / name, kMaxBytes)) << name;
    ++files;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(b), {}), static_cast<std::ptrdiff_t>(files));
}

class EveryFamily : public ::testing::TestWithParam<const char*> {
 protected:
  const fs::path theirs_ = golden_model(GetParam());
  const DescribedModel model_ = read_config(theirs_);
  const std::vector<state::TensorSpec> specs_ = specs_of(model_.config);
  TempDir dir_;
  state::Random random_{17};
  state::Progress progress_;

  // A directory of its own for each.
  fs::path exported(const WeightSource& source, const ExportOptions& options = {}) {
    const fs::path out = dir_ / std::to_string(count_++);
    fs::create_directories(out);
    progress_.done = 0;
    export_model(source, model_.config, specs_, out, options, progress_);
    EXPECT_EQ(progress_.done, progress_.total);
    return out;
  }

 private:
  int count_ = 0;
};

INSTANTIATE_TEST_SUITE_P(
    All,
    EveryFamily,
    ::testing::Values(
        "gpt2", "llama", "llama3", "llama_sharded", "olmo", "olmo2", "qwen2", "qwen3"),
    [](const auto& family) { return family.param; });

TEST_P(EveryFamily, HasTheTensorsOfTransformers) {
  const DirectoryWeights source(theirs_, model_, specs_);
  const fs::path out = exported(source);
  const state::TensorDirectory before(theirs_);
  const state::TensorDirectory after(out);
  EXPECT_EQ(after.names(), before.names());
  for (const std::string& name : before.names()) {
    const state::TensorDirectory::Found a = before.require(name);
    const state::TensorDirectory::Found b = after.require(name);
    EXPECT_EQ(a.info->shape, b.info->shape) << name;
    ASSERT_EQ(a.info->dtype, b.info->dtype) << name;
    EXPECT_EQ(std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()), 0) << name;
  }
  EXPECT_EQ(read_config(out).family, model_.family);
}

TEST_P(EveryFamily, IsTheSameThroughACheckpointInAnyPieces) {
  const DirectoryWeights source(theirs_, model_, specs_);
  const fs::path direct = exported(source, {.max_file_bytes = 20'000});
  EXPECT_TRUE(fs::exists(direct / state::kIndexFile));
  const std::vector<state::PlainTensor> tensors =
      as_tensors(source, specs_, state::DType::kF32, random_);
  for (const uint64_t block : {1U, 3U, 61U, 1'000'000U}) {
    const state::Checkpoint checkpoint(
        state::write_checkpoint(dir_ / "run", 5, tensors, {}, random_));
    expect_same_files(direct, exported(CheckpointWeights(checkpoint, specs_),
                                       {.max_file_bytes = 20'000, .block = block}));
    expect_same_files(direct, exported(source, {.max_file_bytes = 20'000, .block = block}));
  }
}

TEST_P(EveryFamily, IsRoundedToTheTypeThatIsAskedFor) {
  const DirectoryWeights source(theirs_, model_, specs_);
  const state::TensorDirectory before(theirs_);
  for (const state::DType type : {state::DType::kBf16, state::DType::kF16}) {
    const state::TensorDirectory after(exported(source, {.dtype = type, .block = 100}));
    for (const std::string& name : after.names()) {
      const state::TensorDirectory::Found a = before.require(name);
      std::vector<float> numbers(a.bytes.size() / state::element_bytes(a.info->dtype));
      state::to_fp32(a.info->dtype, a.bytes, numbers);
      std::vector<std::byte> expected(numbers.size() * 2);
      state::from_fp32(numbers, type, expected);
      EXPECT_EQ(std::memcmp(after.require(name).bytes.data(), expected.data(), expected.size()), 0)
          << name;
    }
  }
}

TEST_P(EveryFamily, ComesFromACheckpointOfAnyType) {
  const DirectoryWeights source(theirs_, model_, specs_);
  for (const state::DType type : {state::DType::kF64, state::DType::kBf16, state::DType::kF16}) {
    const state::Checkpoint checkpoint(state::write_checkpoint(
        dir_ / "run", 5, as_tensors(source, specs_, type, random_), {}, random_));
    const state::DType to = type == state::DType::kF64 ? state::DType::kF32 : type;
    expect_same_files(exported(source, {.dtype = to}),
                      exported(CheckpointWeights(checkpoint, specs_), {.dtype = to}));
  }
}

TEST(Export, GivesGpt2BiasesOfZeroWhereTheModelHasNone) {
  DescribedModel model = read_config(golden_model("gpt2"));
  model.config.bias = config::BiasOn::kNone;
  const std::vector<state::TensorSpec> specs = specs_of(model.config);
  state::Random random(3);
  const TempDir dir;
  std::vector<state::PlainTensor> tensors;
  for (const state::TensorSpec& spec : specs)
    tensors.push_back(
        {{state::name_in_checkpoint(spec.name), state::DType::kF32, spec.shape}, random});
  const state::Checkpoint checkpoint(state::write_checkpoint(dir / "run", 1, tensors, {}, random));
  fs::create_directories(dir / "out");
  state::Progress progress;
  export_model(CheckpointWeights(checkpoint, specs), model.config, specs, dir / "out", {},
               progress);
  const state::TensorDirectory after(dir / "out");
  const state::TensorDirectory theirs(golden_model("gpt2"));
  EXPECT_EQ(after.names(), theirs.names());
  size_t biases = 0;
  for (const std::string& name : after.names()) {
    EXPECT_EQ(after.require(name).info->shape, theirs.require(name).info->shape) << name;
    if (!name.ends_with(".bias")) continue;
    ++biases;
    for (const std::byte byte : after.require(name).bytes) EXPECT_EQ(byte, std::byte{0}) << name;
  }
  EXPECT_GT(biases, 6U);
}

// A reader takes model.safetensors where there is one, whatever the index says.
TEST(Export, LeavesNoOtherModelBesideItsOwn) {
  const DescribedModel model = read_config(golden_model("llama"));
  const std::vector<state::TensorSpec> specs = specs_of(model.config);
  const DirectoryWeights source(golden_model("llama"), model, specs);
  const TempDir dir;
  state::Progress progress;
  const auto write = [&](uint64_t max_file_bytes) {
    export_model(source, model.config, specs, dir.path(), {.max_file_bytes = max_file_bytes},
                 progress);
  };
  write(1 << 30);
  EXPECT_TRUE(fs::exists(dir / state::kModelFile));
  write(20'000);
  EXPECT_FALSE(fs::exists(dir / state::kModelFile));
  EXPECT_TRUE(fs::exists(dir / state::kIndexFile));
  write(1 << 30);
  EXPECT_FALSE(fs::exists(dir / state::kIndexFile));
}

TEST(Weights, OfACheckpointMustBeAllThere) {
  state::Random random(5);
  const TempDir dir;
  const auto refusal = [&](std::vector<state::PlainTensor> tensors) {
    const state::Checkpoint checkpoint(state::write_checkpoint(dir.path(), 1, tensors, {}, random));
    return error_text<DataError>([&] {
      CheckpointWeights(checkpoint, {{"a.weight", state::DType::kF32, {3, 5}}});
    });
  };
  EXPECT_THAT(refusal({}), HasSubstr("step-000000001 has no tensor 'weights.a.weight'"));
  EXPECT_THAT(refusal({{{"weights.a.weight", state::DType::kF32, {5, 3}}, random}}),
              HasSubstr("tensor \"weights.a.weight\" is [5, 3], but the model's is [3, 5]"));
  EXPECT_THAT(refusal({{{"weights.a.weight", state::DType::kI32, {3, 5}}, random}}),
              HasSubstr("is of type I32, but weights are F64, F32, BF16 or F16"));
  EXPECT_THAT(refusal({{{"weights.a.weight", state::DType::kF16, {3, 5}}, random}}),
              HasSubstr("no error"));
}

TEST(Weights, OfADirectoryMustBeTheModelsAndNothingElse) {
  const DescribedModel model = read_config(golden_model("llama"));
  const auto refusal = [&](DescribedModel asked) {
    return error_text<DataError>(
        [&] { DirectoryWeights(golden_model("llama"), asked, specs_of(asked.config)); });
  };
  DescribedModel fewer = model;
  --fewer.config.layers;
  EXPECT_THAT(refusal(fewer), AllOf(HasSubstr("models/llama has a tensor 'model.layers."),
                                    HasSubstr("no place for")));
  DescribedModel more = model;
  ++more.config.layers;
  EXPECT_THAT(refusal(more), HasSubstr("models/llama has no tensor"));
  DescribedModel wider = model;
  ++*wider.config.hidden;
  EXPECT_THAT(refusal(wider), HasSubstr("but the model's is"));
}

}  // namespace
}  // namespace shoal::hugging_face
