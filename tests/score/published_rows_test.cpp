#include "shoal/score/published_rows.h"

#include <cstdlib>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "shoal/core/error.h"

#include "tests/support/source_dir.h"

namespace shoal::score {
namespace {

using config::Sharding;

const PublishedRow& row_with(const PublishedRows& published, const std::string& id) {
  for (const PublishedRow& row : published.rows)
    if (row.id == id) return row;
  throw BugError("no row " + id);
}

PublishedRows table(const std::string& source) {
  return read_published(tests::source_dir() / "published" / (source + ".csv"));
}

// A table of one row: the first of vTrain's single-node rows, with some cells changed.
class OneRow : public testing::Test {
 protected:
  PublishedRows read(const std::map<std::string, std::string>& changes) {
    std::ifstream in(tests::source_dir() / "published" / "vts.csv");
    std::string names;
    std::string cells;
    std::getline(in, names);
    std::getline(in, cells);
    std::istringstream name_stream(names + ",");
    std::istringstream cell_stream(cells + ",");
    std::string changed;
    std::string name;
    std::string cell;
    while (std::getline(name_stream, name, ',') && std::getline(cell_stream, cell, ',')) {
      const auto change = changes.find(name);
      changed += (changed.empty() ? "" : ",") + (change == changes.end() ? cell : change->second);
    }
    std::ofstream(path_) << names << "\n" << changed << "\n";
    return read_published(path_);
  }

  std::string refusal(const std::map<std::string, std::string>& changes) {
    try {
      read(changes);
      return "";
    } catch (const DataError& error) {
      return error.what();
    }
  }

  std::string reason(const std::map<std::string, std::string>& changes) {
    const PublishedRows found = read(changes);
    return found.uncovered.size() == 1 ? found.uncovered[0].reason : "covered";
  }

  void TearDown() override { std::filesystem::remove(path_); }

  std::filesystem::path path_ = std::filesystem::temp_directory_path() /
                                ("shoal_published_" + std::to_string(::getpid()) + ".csv");
};

TEST(PublishedRows, CoversEveryRowOfTheStepTimesWeCompare) {
  const std::map<std::string, size_t> rows = {{"kor22", 9}, {"vtm", 109},  {"vts", 1440},
                                              {"mci", 42},  {"meg21", 22}, {"msc", 8},
                                              {"llmc", 11}};
  for (const auto& [source, count] : rows) {
    const PublishedRows found = table(source);
    EXPECT_EQ(found.rows.size(), count) << source;
    EXPECT_TRUE(found.uncovered.empty()) << source << ": " << found.uncovered[0].reason;
  }
}

TEST(PublishedRows, AnInterleavedPipelineOfMegatron) {
  const PublishedRows kor22 = table("kor22");
  const PublishedRow& row = row_with(kor22, "kor22-019");
  EXPECT_EQ(row.source(), "kor22");
  EXPECT_EQ(row.ranks, 280);
  EXPECT_EQ(row.config.model.layers, 105);
  EXPECT_EQ(row.config.model.width, 20'480);
  EXPECT_EQ(row.config.model.heads, 128);
  EXPECT_EQ(row.config.model.hidden, 81'920);
  EXPECT_EQ(row.config.model.vocab_size, 51'200);
  EXPECT_EQ(row.config.model.positions, config::Positions::kLearned);
  EXPECT_TRUE(row.config.model.tied);
  EXPECT_EQ(row.config.train.batch, 280);
  EXPECT_EQ(row.config.train.micro_batch, 1);
  EXPECT_EQ(row.config.train.recompute, config::Recompute::kFull);
  EXPECT_EQ(row.config.parallel.tp, 8);
  EXPECT_EQ(row.config.parallel.pp, 35);
  EXPECT_EQ(row.config.parallel.chunks, 3);
  EXPECT_EQ(row.config.parallel.schedule, config::ScheduleKind::kInterleaved);
  EXPECT_EQ(row.config.parallel.dp_shard, 1);
  EXPECT_EQ(row.config.parallel.sharding, Sharding::kNoShard);
  EXPECT_FALSE(row.setup.flash_attention);
  EXPECT_EQ(row.metric, Metric::kStepTime);
  EXPECT_EQ(row.value, 49.05);
}

TEST(PublishedRows, VocabulariesAreThoseOfTheRun) {
  EXPECT_EQ(row_with(table("vtm"), "vtm-001").config.model.vocab_size, 51'200);  // not stated
  EXPECT_EQ(row_with(table("mci"), "mci-001").config.model.vocab_size,
            131'584);  // 131073 over four ranks
  EXPECT_EQ(row_with(table("mci"), "mci-007").config.model.vocab_size, 131'200);  // on one
  EXPECT_EQ(row_with(table("tt24"), "tt24-001").config.model.vocab_size, 128'256);
}

TEST(PublishedRows, ContextRanksAreDataRanksForMemoryOnly) {
  const PublishedRows smx = table("smxB");
  const PublishedRow& row = row_with(smx, "smxB-082");  // tp 2, cp 4, 131,072 tokens
  EXPECT_EQ(row.config.model.context, 32'768);
  EXPECT_EQ(row.config.parallel.dp_shard, 4);
  EXPECT_EQ(row.config.train.batch, 16);
  EXPECT_EQ(row.setup.context_ranks, 4);
  EXPECT_DOUBLE_EQ(row.value, 112.668 * 1024 * 1024 * 1024);
  for (const PublishedRow& other : smx.rows)
    EXPECT_TRUE(other.setup.context_ranks == 1 || is_memory(other.metric)) << other.id;
  size_t times = 0;
  for (const UncoveredRow& other : smx.uncovered)
    times += other.reason.starts_with("context parallelism") ? 1 : 0;
  EXPECT_EQ(times, 7U);
}

TEST(PublishedRows, ThroughputsBecomeSeconds) {
  // 5,762 tokens per second and GPU, 16 sequences of 8,192 tokens, 8 GPUs.
  EXPECT_DOUBLE_EQ(row_with(table("tt24"), "tt24-001").value, 16 * 8192 / (5762.0 * 8));
  // 140 TFLOP/s of each of 1,024 GPUs, with the operations of their equation 3.
  EXPECT_NEAR(row_with(table("meg21"), "meg21-006").value,
              96.0 * 1792 * 2048 * 60 * 10240 * 10240 *
                  (1 + 2048 / (6.0 * 10240) + 51200 / (16.0 * 60 * 10240)) / (140e12 * 1024),
              1e-9);
}

TEST_F(OneRow, IsRefusedWithItsPlace) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({{"layers", "2x"}}),
            path_.string() + ":2: column layers is '2x', but holds an integer from 1 to 10000");
  EXPECT_NE(refusal({{"value", "-1"}}), "");
  EXPECT_NE(refusal({{"value", "nan"}}), "");
  EXPECT_NE(refusal({{"value", "0"}}), "");
  EXPECT_NE(refusal({{"unit", "min"}}), "");
  EXPECT_NE(refusal({{"metric", "loss"}}), "");
  EXPECT_NE(refusal({{"sharding", "zero"}}), "");
  EXPECT_NE(refusal({{"sp", "yes"}}), "");
  EXPECT_NE(refusal({{"scope", "stage x"}}), "");
  EXPECT_NE(refusal({{"attention", "fast"}}), "");
  EXPECT_NE(refusal({{"heads", "99999999999999999999"}}), "");
  EXPECT_NE(refusal({{"dp", "1048576"}, {"cp", "1024"}, {"metric", "peak_memory"}}), "");
  EXPECT_NE(refusal({{"seq", "1025"}, {"cp", "2"}, {"metric", "peak_memory"}}), "");
  EXPECT_NE(refusal({{"micro_batch", "65536"}, {"seq", "2097152"}}), "");
  EXPECT_NE(refusal({{"micro_batch", "1"}, {"global_batch", "16777216"}}), "");
}

TEST_F(OneRow, IsLeftOutWithTheReason) {
  EXPECT_EQ(reason({{"precision", "fp8"}}), "products in fp8");
  EXPECT_EQ(reason({{"family", "moe"}}), "a model of the kind: moe");
  EXPECT_EQ(reason({{"micro_batch", ""}}), "micro_batch is not stated");
  EXPECT_EQ(reason({{"gpus", "3"}}).substr(0, 9), "parallel:");
  EXPECT_EQ(reason({{"heads", "15"}}).substr(0, 6), "model.");
}

TEST(PublishedRows, AnEmptyDirectoryIsAnError) {
  EXPECT_THROW(read_all_published(tests::source_dir() / "published" / "nowhere"), UsageError);
}

}  // namespace
}  // namespace shoal::score
