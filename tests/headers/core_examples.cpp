#include <cstdint>
#include <filesystem>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/bench/fits.h"
#include "shoal/bench/paired.h"
#include "shoal/bench/rounds.h"
#include "shoal/core/activity.h"
#include "shoal/core/console.h"
#include "shoal/core/few_threads.h"
#include "shoal/core/file_error.h"
#include "shoal/core/format.h"
#include "shoal/core/json_fields.h"
#include "shoal/core/log.h"
#include "shoal/core/mapped_file.h"
#include "shoal/core/number_in.h"
#include "shoal/core/random.h"
#include "shoal/core/shipped_file.h"
#include "shoal/core/stack.h"
#include "shoal/plan/mesh.h"

namespace shoal {
namespace {

// shoal/core/activity.h
TEST(HeaderExamples, Activity) {
  ActivityBoard board;
  ActivityBoard::Seat seat(board, "step");
  {
    Activity doing("all_reduce 'gradients' on dp");
    EXPECT_EQ(board.snapshot().front().what, "all_reduce 'gradients' on dp");
  }
  board.snapshot();
}

// shoal/core/stack.h
void stack(pid_t tid) {
  using namespace std::chrono_literals;
  const ThreadStack stack = stack_of(tid, 200ms);
  stack.frames;
  stack.state;
}

// shoal/core/console.h
void console() {
  const Console console = console_of(STDERR_FILENO);
  std::cerr << painted("error", Colour::kRed, console) << ": ...";
}

// shoal/core/file_error.h
void file_error(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  if (error) throw_file_error("rename", from, error);
}

// shoal/core/few_threads.h
void few_threads(const std::vector<std::string>& files, void (*read)(const std::string&)) {
  for_each_by_few_threads(files.size(), 4, [&](size_t i) { read(files[i]); });
}

// shoal/core/format.h
TEST(HeaderExamples, Format) {
  const int rank = 3;
  const int size = 8;
  const double seconds = 2.25;
  const std::string text = format("rank {} of {} waited {:.1f} s", rank, size, seconds);
  EXPECT_EQ(text, "rank 3 of 8 waited 2.2 s");
}

// shoal/core/json_fields.h
TEST(HeaderExamples, JsonFields) {
  const std::string text = R"({"tokens": 7})";
  const json::Document document(text);
  const json::Fields root(document.root(), "manifest");
  try {
    root.number("version");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "manifest has no 'version'");
  }
}

// shoal/core/log.h
void log_lines(const plan::Mesh& mesh, const std::string& host) {
  log::configure({.rank = 3, .world_size = 8});
  log::info("mesh {}", mesh.describe());
  log::warn("{} is slow", host);
}

// shoal/core/mapped_file.h
void mapped_file(void (*parse)(std::string_view)) {
  const MappedFile file("shard-00017.bin");
  file.advise(MappedFile::Access::kSequential);
  parse(file.bytes());
}

// shoal/core/number_in.h
TEST(HeaderExamples, NumberIn) {
  EXPECT_EQ(number_in<int>("-17"), -17);
  EXPECT_EQ(number_in<uint32_t>("ff", 16), 255);
  EXPECT_EQ(number_in<double>("1e-3"), 0.001);
  EXPECT_EQ(number_in<int>("17 tokens"), std::nullopt);
}

// shoal/core/random.h
void random_numbers(uint64_t seed, std::span<float> shard, uint64_t first) {
  const Random weights(seed, RandomStream::kWeights, "blocks.3.attention.q");
  weights.uniform(17);
  weights.fill_normal(shard, first);
}

}  // namespace
}  // namespace shoal

namespace shoal::bench {
namespace {

// shoal/bench/paired.h
void paired(void (*ours)(), void (*theirs)()) {
  const Paired result = measure_paired({.a = [&] { ours(); }, .b = [&] { theirs(); }});
  result.ratio.median;
}

// shoal/bench/fits.h
void fits(const std::vector<ProductTime>& times) {
  const ProductFit fit = fit_products(times);
  fit.rate, fit.half;
}

// shoal/bench/rounds.h
void rounds(const std::vector<std::function<void()>>& bodies) {
  const std::vector<std::vector<double>> seconds =
      measure_rounds({.bodies = bodies, .seconds = 10});
  undisturbed(seconds[0]);
}

// shoal/core/shipped_file.h
TEST(HeaderExamples, ShippedFile) {
  namespace fs = std::filesystem;
  const fs::path file = own_or_shipped("configs/shakespeare.yaml");
}

}  // namespace
}  // namespace shoal::bench
