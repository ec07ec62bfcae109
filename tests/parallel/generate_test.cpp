// A model on several ranks generates the same text and likelihoods as on one rank, in double
// precision.

#include <array>
#include <set>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "shoal/config/load.h"
#include "shoal/core/files.h"
#include "shoal/core/format.h"
#include "shoal/feed/pass_over.h"
#include "shoal/generate/generator.h"
#include "shoal/generate/likelihood.h"
#include "shoal/parallel/parallel_model.h"
#include "shoal/plan/layout.h"
#include "shoal/verify/made_up_batch.h"

#include "tests/support/run_ranks.h"
#include "tests/support/temp_dir.h"

namespace shoal::parallel {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using data::TokenId;
using Sets = std::vector<std::string>;

const Sets kGpt2 = {"model.layers=5", "model.width=24", "model.heads=3", "model.hidden=41"};

const Sets kLlama = {"model.layers=3",         "model.width=20",     "model.heads=4",
                     "model.kv_heads=2",       "model.head_width=6", "model.hidden=34",
                     "model.positions=rotary", "model.norm=rms",     "model.activation=swiglu",
                     "model.bias=none",        "model.tied=false"};

constexpr std::array<TokenId, 5> kPrompt = {3, 250, 17, 31, 30};

config::RunConfig config_of(const Sets& model, const Sets& layout, int ranks) {
  Sets sets = {"model.context=29", "model.vocab_size=257", "model.init_std=0.3", "train.batch=7"};
  sets.insert(sets.end(), model.begin(), model.end());
  sets.insert(sets.end(), layout.begin(), layout.end());
  return config::load_or_throw({.sets = sets, .job = config::JobSize{ranks, ranks}});
}

// The outputs that are compared.
struct Answers {
  std::vector<TokenId> greedy;
  std::vector<TokenId> sampled;
  std::vector<TokenId> slid;  // text beyond the context
  at::Tensor logits;
  double loss = 0;
  std::vector<generate::Likelihood> likelihoods;
};

Answers answers_of(ParallelModel& model) {
  const generate::Generator generator(model, data::read_tokenizer("byte"));
  const auto written = [&](double temperature, int64_t tokens) {
    generate::GenerateOptions options{.max_new_tokens = tokens, .slide = true};
    options.sampling.temperature = temperature;
    options.sampling.seed = 11;
    return generator.run(kPrompt, options).ids;
  };
  Answers answers{.greedy = written(0, 17), .sampled = written(1, 17), .slid = written(0, 50)};
  const at::NoGradGuard no_grad;
  const feed::TokenBatch batch =
      verify::made_up_batch({.seed = 5, .length = 23, .classes = 257}, 2, 3);
  model::Pass pass = feed::pass_over(batch, 0, 3, /*separate_documents=*/true);
  answers.loss = model.forward(pass).item<double>();
  pass.targets.reset();
  pass.first_logit = 4;
  answers.logits = model.forward(pass);
  answers.likelihoods = generate::likelihoods(model, kPrompt, {{1}, {7, 7, 2, 9, 30}, {60, 0}});
  return answers;
}

void expect_one_ranks_answers(const Answers& found, const Answers& wanted) {
  EXPECT_EQ(found.greedy, wanted.greedy);
  EXPECT_EQ(found.sampled, wanted.sampled);
  EXPECT_EQ(found.slid, wanted.slid);
  EXPECT_EQ(found.logits.sizes(), (at::IntArrayRef{3, 19, 257}));
  EXPECT_LT((found.logits - wanted.logits).abs().max().item<double>(), 1e-11);
  EXPECT_NEAR(found.loss, wanted.loss, 1e-11);
  ASSERT_EQ(found.likelihoods.size(), wanted.likelihoods.size());
  for (size_t i = 0; i < found.likelihoods.size(); ++i) {
    EXPECT_NEAR(found.likelihoods[i].log_probability, wanted.likelihoods[i].log_probability, 1e-11);
    EXPECT_EQ(found.likelihoods[i].greedy, wanted.likelihoods[i].greedy);
  }
}

// Checks that the texts vary: constant texts would hide a difference between layouts.
void expect_says_something(const Answers& answers) {
  EXPECT_NE(answers.greedy, answers.sampled);
  EXPECT_EQ(answers.slid.size(), 50U);
  EXPECT_GT(std::set<TokenId>(answers.slid.begin(), answers.slid.end()).size(), 3U);
  EXPECT_GT(answers.loss, 1);
}

void run_layouts(int ranks, const std::vector<Sets>& layouts) {
  tests::run_ranks(ranks,
                   [&](const cluster::Membership& me, const cluster::Environment& environment) {
                     const auto world = comm::World::join(
                         me, environment,
                         {.backend = config::Backend::kGloo, .deadline = 60s, .rendezvous = 60s});
                     for (const Sets& family : {kGpt2, kLlama}) {
                       const model::Materials materials{
                           .dtype = at::kDouble, .seed = 3, .gradients = false};
                       const config::RunConfig plain = config_of(family, {}, 1);
                       const Ranks alone = Ranks::alone(*world);
                       ParallelModel whole(plain, alone, materials);
                       const Answers wanted = answers_of(whole);
                       expect_says_something(wanted);
                       for (const Sets& layout : layouts) {
                         SCOPED_TRACE(format("{} with {}", family.front(), layout.front()));
                         const config::RunConfig config = config_of(family, layout, ranks);
                         const Ranks places(*world, config);
                         ParallelModel model(config, places, materials);
                         const Answers found = answers_of(model);
                         expect_one_ranks_answers(found, wanted);
                       }
                     }
                     world->leave();
                   },
                   {.environment = {{"OMP_NUM_THREADS", "1"}}});
}

TEST(Generate, OnTwoRanks) {
  run_layouts(2, {
                     {"parallel.tp=2"},
                     {"parallel.pp=2"},
                     {"parallel.sharding=full_shard"},
                     {"parallel.sharding=optimizer"},
                     {"parallel.pp=2", "parallel.schedule=interleaved", "parallel.chunks=2"},
                 });
}

TEST(Generate, OnFourRanks) {
  run_layouts(4, {
                     {"parallel.tp=2", "parallel.pp=2"},
                     {"parallel.tp=2", "parallel.sharding=full_shard"},
                     {"parallel.pp=2", "parallel.dp_replicate=2"},
                     {"parallel.pp=4"},
                 });
}

// A schedule file has the micro-batches of a training step; forward-only programs have their own
// number.
TEST(Generate, WithAScheduleForTraining) {
  tests::run_ranks(2,
                   [&](const cluster::Membership& me, const cluster::Environment& environment) {
                     const auto world = comm::World::join(
                         me, environment,
                         {.backend = config::Backend::kGloo, .deadline = 60s, .rendezvous = 60s});
                     const tests::TempDir directory;
                     const std::string file = (directory / "mine.txt").string();
                     write_file_atomically(file,
                                           "rank 0: F0 F1 B0 F2 B1 F3 B2 B3\n"
                                           "rank 1: F0 B0 F1 B1 F2 B2 F3 B3\n");
                     const config::RunConfig config =
                         config_of(kGpt2,
                                   {"parallel.pp=2", "parallel.schedule=file",
                                    "train.micro_batch=2", "parallel.schedule_file=" + file},
                                   2);
                     const Ranks places(*world, config);
                     ParallelModel model(config, places,
                                         {.dtype = at::kDouble, .seed = 3, .gradients = false});
                     const feed::TokenBatch batch =
                         verify::made_up_batch({.seed = 5, .length = 23, .classes = 257}, 2, 3);
                     model::Pass pass = feed::pass_over(batch, 0, 3, true);
                     const auto loss = model.forward(pass).item<double>();
                     EXPECT_GT(loss, 1);
                     const std::vector<model::Pass> three(3, pass);
                     const Evaluation found = model.evaluate(three);
                     const int64_t targets = model::num_targets(pass);
                     EXPECT_EQ(found.targets, 3 * targets);
                     EXPECT_NEAR(found.loss, loss / static_cast<double>(targets), 1e-10);

                     world->leave();
                   },
                   {.environment = {{"OMP_NUM_THREADS", "1"}}});
}

}  // namespace
}  // namespace shoal::parallel
