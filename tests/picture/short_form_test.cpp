#include "shoal/picture/short_form.h"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/picture/planned.h"

namespace shoal::picture {
namespace {

size_t columns_of(const std::string& line) {
  return static_cast<size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(ShortForm, StaysInsideItsColumns) {
  for (const int pp : {1, 2, 8, 9, 11}) {
    const auto [config, mesh] = tests::planned(
        2 * pp, {"parallel.pp=" + std::to_string(pp), "train.micro_batch=1", "parallel.tp=2"});
    const PlanFacts facts = facts_of(config, mesh, tests::slow_cluster());
    for (const bool blocks : {false, true}) {
      const std::vector<std::string> lines = lines_of(short_form(facts, {.blocks = blocks}));
      EXPECT_EQ(lines.size(), static_cast<size_t>(1 + (pp <= 8 ? pp : 3) + 3)) << pp;
      for (const std::string& line : lines) {
        EXPECT_LE(columns_of(line), kShortFormColumns) << line;
        EXPECT_TRUE(blocks || columns_of(line) == line.size()) << line;
      }
    }
  }
}

TEST(ShortForm, BarsAreBytes) {
  const auto [config, mesh] = tests::planned(2, {"train.micro_batch=1"});
  config::ClusterConfig cluster = tests::slow_cluster();
  PlanFacts facts = facts_of(config, mesh, cluster);
  StageMemory& stage = facts.stages[0];
  stage.peak.memory = {.weights = 100, .optimizer = 150, .whole_weights = 125, .activations = 250};
  stage.beside = {.context = 125};
  facts.cluster->device.memory_gb = 1e-6;
  const std::string line = lines_of(short_form(facts, {}))[1];
  EXPECT_EQ(line, "  stage 0     " + std::string(16, '#') + std::string(8, '=') +
                      std::string(16, '+') + std::string(8, '-') + std::string(16, '.') +
                      "      750 B");
  facts.cluster->device.memory_gb = 0.5e-6;
  const std::string full = lines_of(short_form(facts, {}))[1];
  EXPECT_NE(full.find("too much"), std::string::npos);
  EXPECT_EQ(std::count(full.begin(), full.end(), '|'), 1);
}

TEST(ShortForm, WithoutAClusterHasNoStep) {
  const auto [config, mesh] = tests::planned(1, {});
  EXPECT_EQ(lines_of(short_form(facts_of(config, mesh, std::nullopt), {})).size(), 2U);
}

}  // namespace
}  // namespace shoal::picture
