#include "shoal/course/run_files.h"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>

#include "shoal/config/print.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/metrics/sink.h"
#include "shoal/state/checkpoint_writer.h"

#include "tests/support/error_text.h"
#include "tests/support/temp_dir.h"

namespace shoal::course {
namespace {

namespace fs = std::filesystem;
using tests::error_text;
using tests::TempDir;

double loss_at(int64_t step) { return 5.0 - 0.01 * static_cast<double>(step); }

// What a run writes that starts behind a step and ends with another.
void train(const fs::path& run, int64_t from, int64_t to, double scale = 1) {
  metrics::Sinks sinks = metrics::open_files(run, from == 0 ? 0 : from + 1);
  for (int64_t step = from + 1; step <= to; ++step)
    sinks.write({.step = step, .loss = scale * loss_at(step)});
}

void save(const fs::path& run, uint64_t step, const config::ParallelConfig& parallel) {
  config::RunConfig config;
  config.parallel = parallel;
  const std::vector<std::byte> bytes(8);
  state::CheckpointWriter writer(run / "checkpoints", step,
                                 {{"weights.a", state::DType::kF32, {2}, {{0}, {2}}}});
  writer.write(bytes);
  writer.commit({{"config", config::to_yaml(config)}});
}

TEST(RunFiles, HaveEachStartWithTheStepsThatWereLost) {
  const TempDir directory;
  train(directory / "run", 0, 91);
  train(directory / "run", 80, 200);
  const std::vector<Start> starts = starts_of(directory / "run");
  ASSERT_EQ(starts.size(), 2U);
  ASSERT_EQ(starts[0].losses.size(), 91U);
  ASSERT_EQ(starts[1].losses.size(), 120U);
  EXPECT_EQ(starts[0].losses.rbegin()->first, 91);
  EXPECT_EQ(starts[1].losses.begin()->first, 81);
  EXPECT_NEAR(starts[0].losses.at(85), loss_at(85), 1e-6);
  const auto losses = read_losses(directory / "run");
  EXPECT_EQ(losses.size(), 200U);
  EXPECT_EQ(losses.at(200), loss_at(200));
}

TEST(RunFiles, OfAKillEndInTheMiddleOfARow) {
  const TempDir directory;
  train(directory / "run", 0, 5);
  for (const fs::directory_entry& entry : fs::directory_iterator(directory / "run"))
    if (fs::file_size(entry.path()) > 3)
      fs::resize_file(entry.path(), fs::file_size(entry.path()) - 3);
  EXPECT_EQ(read_losses(directory / "run").size(), 4U);
  ASSERT_EQ(starts_of(directory / "run").size(), 1U);
  EXPECT_EQ(starts_of(directory / "run")[0].losses.size(), 4U);
}

TEST(RunFiles, MayBeAnything) {
  const TempDir directory;
  train(directory / "run", 0, 3);
  fs::path events;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory / "run"))
    if (entry.path().filename().string().starts_with("events")) events = entry.path();
  const std::string whole = read_file(events, 1 << 20);
  // Every byte in turn: what is read may be wrong, but nothing crashes, and no step is made up from it
  // beyond one for each record.
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const unsigned mask : {0xffU, 0x80U, 0x01U}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(static_cast<unsigned char>(changed[i]) ^ mask);
      std::ofstream(events, std::ios::binary) << changed;
      EXPECT_LE(starts_of(directory / "run")[0].losses.size(), 3U) << i;
    }
  }
  write_file_atomically(directory / "run/metrics.csv", "step,loss\n1,abc\n");
  EXPECT_NE(error_text<DataError>([&] {
              read_losses(directory / "run");
            }).find("metrics.csv is not what a run wrote"),
            std::string::npos);
  write_file_atomically(directory / "run/metrics.csv", "loss\n5\n");
  EXPECT_THROW(read_losses(directory / "run"), DataError);
  EXPECT_NE(
      error_text<DataError>([&] { starts_of(directory / "none"); }).find("there is no run in"),
      std::string::npos);
}

TEST(RunFiles, HaveTheLayoutsOfCheckpoints) {
  const TempDir directory;
  fs::create_directory(directory / "run");
  EXPECT_THROW(layout_of(directory / "run"), DataError);
  save(directory / "run", 40, {.dp_shard = 2});
  save(directory / "run", 80, {.dp_shard = 1, .tp = 2});
  const auto layouts = layouts_of(directory / "run");
  ASSERT_EQ(layouts.size(), 2U);
  EXPECT_EQ(layouts.at(40),
            "pp 1 x dp_replicate 1 x dp_shard 2 x cp 1 x tp 1 = 2 ranks, full_shard");
  EXPECT_EQ(layout_of(directory / "run"),
            "pp 1 x dp_replicate 1 x dp_shard 1 x cp 1 x tp 2 = 2 ranks, full_shard");
}

TEST(FirstDifference, ComparesStepsThatBothHave) {
  EXPECT_EQ(first_difference({{1, 5.0}, {2, 4.0}}, {{2, 4.0}, {3, 9.0}}, 1e-6), "");
  EXPECT_EQ(first_difference({{1, 5.0}, {2, 4.0}}, {{1, 5.0}, {2, 4.5}}, 1e-3),
            "step 2 has a loss of 4.000000 here and 4.500000 there");
  EXPECT_NE(first_difference({{1, 5.0}}, {{1, std::nan("")}}, 1e-3), "");
}

}  // namespace
}  // namespace shoal::course
