#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/run_config.h"
#include "shoal/core/box.h"
#include "shoal/core/error.h"
#include "shoal/hugging_face/export.h"
#include "shoal/hugging_face/initial_model.h"
#include "shoal/hugging_face/weight_source.h"
#include "shoal/state/checkpoint.h"
#include "shoal/state/checkpoint_diff.h"
#include "shoal/state/checkpoint_store.h"
#include "shoal/state/checkpoint_writer.h"
#include "shoal/state/float_types.h"
#include "shoal/state/output_file.h"
#include "shoal/state/part_report.h"
#include "shoal/state/part_writer.h"
#include "shoal/state/piece_index.h"
#include "shoal/state/safetensors.h"
#include "shoal/state/safetensors_index.h"
#include "shoal/state/tensor_spec.h"

namespace shoal::state {
namespace {

// shoal/core/box.h
TEST(HeaderExamples, Box) {
  const Box right_half{{0, 4}, {3, 4}};
  EXPECT_TRUE(tiles({3, 8}, {{{0, 0}, {3, 4}}, right_half}));
}

// shoal/state/checkpoint.h
void checkpoint(std::span<std::byte> bytes) {
  const Checkpoint checkpoint("run/checkpoints/step-000000200");
  checkpoint.values().at("seed");
  checkpoint.read("model.norm.weight", bytes);
  checkpoint.read("model.embed.weight", {{0, 64}, {32000, 64}}, bytes);
}

// shoal/state/checkpoint_diff.h
void checkpoint_diff(const std::string& a, const std::string& b, Progress& progress) {
  const CheckpointDifference found =
      diff(Checkpoint(a), Checkpoint(b), {.only = "weights."}, progress);
  found.tensors.front().largest->by;
}

// shoal/state/checkpoint_store.h
void checkpoint_store(void (*resume)(const Checkpoint&), double validation_loss) {
  if (const auto found = latest("run/checkpoints")) resume(Checkpoint(found->path));
  mark_best("run/checkpoints", 200, validation_loss);
  prune("run/checkpoints", {.keep = 3, .every = 1000});
}

// shoal/state/checkpoint_writer.h
void checkpoint_writer(std::span<const std::byte> bytes) {
  CheckpointWriter writer("run/checkpoints", 200,
                          {{"weights.norm", DType::kF32, {4096}, {{0}, {4096}}}});
  writer.write(bytes);
  const auto path = writer.commit({{"seed", "7"}});
}

// shoal/state/float_types.h
TEST(HeaderExamples, FloatTypes) {
  std::vector<std::byte> bytes(2);
  std::vector<float> numbers(1, 1.0F);
  to_fp32(DType::kBf16, bytes, numbers);
  EXPECT_EQ(numbers.front(), 0);
  from_fp32(numbers, DType::kF16, bytes);
}

// shoal/state/output_file.h
void output_file(const std::filesystem::path& directory, std::span<const std::byte> bytes) {
  OutputFile file(directory / "rank-00000-00000.safetensors");
  file.write_at(0, bytes);
  file.close();
}

// shoal/state/part_report.h
void part_report(PartWriter& writer, const std::vector<PartReport>& reports) {
  const PartReport report = writer.finish();
  const Joined joined = join(reports);
}

// shoal/state/part_writer.h
void part_writer(const std::filesystem::path& directory,
                 const std::string& id,
                 int rank,
                 std::span<const std::byte> bytes) {
  PartWriter part(directory, id, rank, {{"weights.a", DType::kF32, {4, 6}, {{0, 3}, {2, 3}}}});
  part.write(bytes);
  const PartReport report = part.finish();
}

// shoal/state/piece_index.h
void piece_index(const CheckpointManifest& manifest,
                 std::string_view header,
                 size_t tensor,
                 const Box& box) {
  PieceIndex index(manifest);
  index.add_file(0, header, "rank-00000-00000.safetensors");
  index.sort();
  index.for_each(tensor, box, [&](const PieceIndex::Place& place, const Box& piece) {});
}

// shoal/state/safetensors.h
void safetensors(std::span<const std::byte> bytes) {
  const Safetensors file("model.safetensors");
  const TensorInfo* norm = file.find("model.norm.weight");
  file.bytes(*norm);
  SafetensorsWriter writer("model.safetensors", {{"a", DType::kF32, {2, 3}}}, {{"format", "pt"}});
  writer.write("a", bytes);
  writer.finish();
}

// shoal/state/safetensors_index.h
void safetensors_index(const std::vector<TensorSpec>& tensors,
                       const std::filesystem::path& directory) {
  const TensorDirectory model("llama-3-8b");
  const auto tensor = model.find("model.norm.weight");
  tensor->bytes;
  const ShardPlan plan = plan_shards(tensors, 5'000'000'000);
  for (const ShardFile& shard : plan.files) {
  }
  write_index(directory, plan);
}

// shoal/state/tensor_spec.h
TEST(HeaderExamples, TensorSpec) {
  const TensorSpec spec{"model.norm.weight", DType::kBf16, {4096}};
  EXPECT_EQ(tensor_bytes(spec.dtype, spec.shape), 8192);
}

}  // namespace
}  // namespace shoal::state

namespace shoal::hugging_face {
namespace {

using state::Checkpoint;
using state::DType;
using state::Progress;
using state::TensorSpec;

// shoal/hugging_face/export.h
void hugging_face_export(const Checkpoint& checkpoint,
                         const config::ModelConfig& config,
                         const std::vector<TensorSpec>& specs,
                         Progress& progress) {
  export_model(CheckpointWeights(checkpoint, specs), config, specs, "small-hf",
               {.dtype = DType::kBf16}, progress);
}

// shoal/hugging_face/initial_model.h
TEST(HeaderExamples, InitialModel) {
  config::RunConfig config;
  if (const auto model = initial_model(config.train)) config.model = *model;
  EXPECT_EQ(config.model.layers, config::ModelConfig().layers);  // from scratch
  config.train.init_from = "nowhere";
  EXPECT_THROW((void)initial_model(config.train), DataError);
}
void config_of_a_plan(const config::Request& request) {
  const config::RunConfig config = config::load_or_throw(with_initial_model(request));
}

// shoal/hugging_face/weight_source.h
void hugging_face_weights(const Checkpoint& checkpoint,
                          const std::vector<TensorSpec>& specs,
                          std::span<float> numbers) {
  const CheckpointWeights weights(checkpoint, specs);
  weights.read(specs.front(), {{0, 0}, {64, 768}}, numbers);
}

}  // namespace
}  // namespace shoal::hugging_face
