#include "shoal/state/safetensors_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"
#include "shoal/core/files.h"

#include "tests/support/error_text.h"
#include "tests/support/temp_dir.h"

namespace shoal::state {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tests::error_text;
using tests::TempDir;

const std::vector<TensorSpec> kTensors = {{"c", DType::kU8, {5}},
                                          {"a", DType::kU8, {3}},
                                          {"b", DType::kU8, {2}},
                                          {"d", DType::kU8, {11}}};

// Each tensor is filled with its name.
std::string content_of(const TensorSpec& tensor) {
  return std::string(tensor_bytes(tensor.dtype, tensor.shape), tensor.name.front());
}

void write(const std::filesystem::path& path, const std::vector<TensorSpec>& tensors) {
  SafetensorsWriter writer(path, tensors);
  for (const TensorSpec& tensor : tensors) {
    const std::string content = content_of(tensor);
    writer.write(tensor.name, std::as_bytes(std::span(content)));
  }
  writer.finish();
}

void expect_tensors(const TensorDirectory& directory) {
  EXPECT_THAT(directory.names(), ElementsAre("a", "b", "c", "d"));
  for (const TensorSpec& tensor : kTensors) {
    const auto found = directory.find(tensor.name);
    ASSERT_TRUE(found);
    EXPECT_EQ(TensorSpec(*found->info), tensor);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(found->bytes.data()), found->bytes.size()),
              content_of(tensor));
  }
  EXPECT_FALSE(directory.find("e"));
  EXPECT_THAT(error_text<DataError>([&] { (void)directory.require("e"); }),
              HasSubstr("has no tensor \"e\""));
}

TEST(TensorDirectory, OpensOneFile) {
  const TempDir dir;
  write(dir / "model.safetensors", kTensors);
  write_file_atomically(dir / kIndexFile, "never read");
  expect_tensors(TensorDirectory(dir.path()));
  expect_tensors(TensorDirectory(dir / "model.safetensors"));
}

TEST(TensorDirectory, OpensSeveralFiles) {
  const TempDir dir;
  const ShardPlan plan = plan_shards(kTensors, 8);
  for (const ShardFile& shard : plan.files) write(dir / shard.name, shard.tensors);
  write_index(dir.path(), plan);
  expect_tensors(TensorDirectory(dir.path()));
}

TEST(TensorDirectory, RefusesWhatDoesNotAgree) {
  const TempDir dir;
  const auto refusal = [&](const std::string& index) {
    write_file_atomically(dir / kIndexFile, index);
    return error_text<DataError>([&] { const TensorDirectory directory(dir.path()); });
  };
  EXPECT_THAT(error_text<DataError>([&] { const TensorDirectory directory(dir.path()); }),
              HasSubstr("has neither model.safetensors nor"));
  write(dir / "1.safetensors", {kTensors[0], kTensors[1]});
  write(dir / "2.safetensors", {kTensors[2]});
  const std::string none = "(no error of the expected type was thrown)";
  const std::string map =
      R"("weight_map": {"a": "1.safetensors", "b": "2.safetensors", "c": "1.safetensors")";
  EXPECT_EQ(refusal("{" + map + "}}"), none);
  EXPECT_EQ(refusal(R"({"metadata": {"total_size": 10}, )" + map + "}}"), none);
  EXPECT_THAT(refusal(R"({"metadata": {"total_size": 11}, )" + map + "}}"),
              HasSubstr("total_size is 11, but its tensors have 10 bytes"));
  EXPECT_THAT(refusal("{" + map + R"(, "d": "2.safetensors"}})"),
              HasSubstr("2.safetensors has no tensor \"d\""));
  EXPECT_THAT(refusal("{" + map + R"(, "d": "3.safetensors"}})"), HasSubstr("No such file"));
  EXPECT_THAT(refusal("{" + map + R"(, "a": "2.safetensors"}})"), HasSubstr("'a' twice"));
  EXPECT_THAT(refusal(R"({"weight_map": {"a": "1.safetensors"}})"),
              HasSubstr("1.safetensors holds tensor \"c\", but"));
  EXPECT_THAT(refusal(R"({"weight_map": {"a": "2.safetensors", "b": "2.safetensors"}})"),
              HasSubstr("2.safetensors has no tensor \"a\""));
  EXPECT_THAT(refusal("{}"), HasSubstr("index.json: index has no 'weight_map'"));
  EXPECT_THAT(refusal(""), HasSubstr("this is no JSON"));
}

TEST(TensorDirectory, StaysInItsDirectory) {
  for (const char* file : {"../x.safetensors", "/etc/passwd", "..", ".", "", "a/b", "a\\\\b",
                           "a\\u0000b", ".hidden"}) {
    const std::string json = format(R"({{"weight_map": {{"a": "{}"}}}})", file);
    EXPECT_THAT(error_text<DataError>([&] { (void)read_safetensors_index(json, "x"); }),
                HasSubstr("which is not the name of a file here"))
        << file;
  }
}

TEST(PlanShards, FillsFilesLikeHuggingFace) {
  const auto names = [](const ShardPlan& plan) {
    std::string text;
    for (const ShardFile& shard : plan.files) {
      text += shard.name + ":";
      for (const TensorSpec& tensor : shard.tensors) text += " " + tensor.name;
      text += "\n";
    }
    return text;
  };
  EXPECT_EQ(names(plan_shards(kTensors, 100)), "model.safetensors: c a b d\n");
  EXPECT_EQ(names(plan_shards(kTensors, 21)), "model.safetensors: c a b d\n");
  EXPECT_EQ(names(plan_shards(kTensors, 8)),
            "model-00001-of-00003.safetensors: c a\n"
            "model-00002-of-00003.safetensors: d\n"
            "model-00003-of-00003.safetensors: b\n");
  EXPECT_EQ(names(plan_shards({}, 8)), "model.safetensors:\n");
  EXPECT_EQ(plan_shards(kTensors, 8).total_bytes, 21U);
  EXPECT_EQ(index_json(plan_shards({kTensors[0], kTensors[1]}, 5)),
            "{\n  \"metadata\": {\n    \"total_size\": 8\n  },\n  \"weight_map\": {\n"
            "    \"a\": \"model-00002-of-00002.safetensors\",\n"
            "    \"c\": \"model-00001-of-00002.safetensors\"\n  }\n}\n");
}

}  // namespace
}  // namespace shoal::state
