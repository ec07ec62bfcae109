// end_to_end -- the whole way through the library: a text, a tokenizer learned from it, token shards, a config, training
// with metrics, a checkpoint, and a sample from that checkpoint. Alone, or on ranks, in a directory that does not exist yet:
//
//   build/release/examples/end_to_end TEXT DIRECTORY [KEY=VALUE ...]
//   shoal launch --ranks 2 -- build/release/examples/end_to_end TEXT DIRECTORY parallel.tp=2

#include <exception>
#include <filesystem>
#include <iostream>

#include <unistd.h>

#include <ATen/Parallel.h>

#include "shoal/shoal.h"

// The ends of the way are not part of what shoal.h promises to keep as it is.
#include "shoal/core/files.h"
#include "shoal/data/tokenizer/bpe_trainer.h"
#include "shoal/data/tokenizer/encoder.h"
#include "shoal/data/tokenizer/writers.h"
#include "shoal/generate/generator.h"
#include "shoal/metrics/terminal.h"
#include "shoal/plan/composition.h"
#include "shoal/prepare/prepare.h"
#include "shoal/state/checkpoint_store.h"

namespace {

using namespace shoal;
namespace fs = std::filesystem;

// Text to tokens: learns a BPE of 512 tokens, and writes the ids of the text as shards, the last tenth for validation.
void make_tokens(const fs::path& text, const fs::path& directory) {
  if (!fs::create_directories(directory / "tokens"))
    throw UsageError(format("{} is there already: name a new directory", directory.string()));
  ChunkReader file(text);
  const data::PieceCounts counts =
      data::count_pieces({}, [&] { return file.next(size_t{1} << 20); });
  const data::TokenizerParts learned = data::train_bpe(counts, {.vocab_size = 512});
  write_file_atomically(directory / "tokenizer.json", data::to_tokenizer_json(learned));
  prepare::Progress progress;
  prepare::prepare({.inputs = {text.string()},
                    .tokenizer = data::read_tokenizer(directory / "tokenizer.json"),
                    .output = directory / "tokens",
                    .validation = {.kind = prepare::ValidationRule::Kind::kTail, .share = 0.1}},
                   progress);
  std::cout << format("{} tokens of {} kinds\n", progress.tokens.load(), learned.vocabulary.size());
}

// The config: these keys, then those of the command line, which win; docs/config.md has the others and their defaults.
config::RunConfig config_of(std::vector<std::string> sets, const cluster::Membership& me) {
  for (const char* const set :
       {"model.layers=2", "model.width=64", "model.heads=4", "model.context=64", "train.steps=400",
        "train.batch=12", "train.log_every=100", "train.eval_every=200", "optimizer.lr=3e-3",
        "optimizer.warmup=20"})
    sets.insert(sets.begin(), set);
  const config::JobSize job{me.world_size, me.local_size};
  return config::load_or_throw({.sets = sets, .job = job});
}

// Trains, and returns the config with what was found out on the way: the size of the vocabulary.
config::RunConfig train_in(const fs::path& directory,
                           const config::RunConfig& config,
                           comm::World& world) {
  train::Trainer trainer(config, directory, world, {});
  metrics::Sinks sinks;
  if (world.rank() == 0) {  // writes CSV, JSONL and TensorBoard, and prints
    sinks = metrics::open_files(directory, 0);
    sinks.add(std::make_unique<metrics::Terminal>(
        STDOUT_FILENO, metrics::TerminalOptions{.total_steps = config.train.steps,
                                                .print_every = config.train.log_every}));
  }
  const double before = trainer.evaluate_once();
  trainer.run(sinks);
  const double after = trainer.evaluate_once();
  if (world.rank() == 0) std::cout << format("validation loss {:.2f} -> {:.2f}\n", before, after);
  return trainer.config();
}

// A model from the newest checkpoint, and what it writes. Another layout than that of the training would do as well.
std::string sample_from(const fs::path& directory,
                        const config::RunConfig& config,
                        comm::World& world) {
  const fs::path newest = state::latest(directory / "checkpoints").value().path;
  const parallel::Ranks ranks(world, config);
  parallel::ParallelModel model(
      config, ranks, {.device = ranks.device(), .gradients = false, .new_values = false});
  checkpoint::load_weights(state::Checkpoint(newest), model);
  if (world.rank() == 0) std::cout << "checkpoint " << newest.filename().string() << "\n";
  const auto tokenizer = data::read_tokenizer(directory / "tokenizer.json");
  std::vector<data::TokenId> prompt;
  data::Encoder(tokenizer).encode("The ", prompt);
  const generate::GenerateOptions options{.sampling = {.temperature = 0.8}, .max_new_tokens = 60};
  return generate::Generator(model, tokenizer).run(prompt, options).text;
}

}  // namespace

int main(int argc, char** argv) try {
  std::cout << std::unitbuf;
  if (argc < 3) throw UsageError("usage: end_to_end TEXT DIRECTORY [KEY=VALUE ...]");
  const fs::path directory = argv[2];
  const auto environment = cluster::Environment::of_this_process();
  const cluster::Membership me = cluster::detect_membership(environment);
  config::RunConfig config = config_of({argv + 3, argv + argc}, me);
  config.data.sources = {(directory / "tokens").string()};
  plan::require_layout(config, me.world_size);
  at::set_num_threads(config.train.threads.value_or(1));  // ranks on one host share its cores
  const auto world = comm::World::join(me, environment, comm::world_options(config));

  if (me.rank == 0) make_tokens(argv[1], directory);
  world->control().barrier("tokens");
  config = train_in(directory, config, *world);
  const std::string text = sample_from(directory, config, *world);
  if (me.rank == 0) std::cout << "sample: The " << text << "\n";
  world->leave();
  return 0;
} catch (const std::exception& e) {
  std::cerr << "end_to_end: " << e.what() << "\n";
  return 1;
}
