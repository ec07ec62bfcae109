// checkpoint_bench -- what a checkpoint of GPT-2 124M with AdamW's state costs one rank.
//
//   build/release/checkpoint_bench --directory /scratch/bench       # a file system worth measuring
//
// In turn, round by round:
//   stall      how long the loop stands still for a save, beside one memcpy of as many bytes
//   steps      steps while a save is written behind them, beside steps without one
//   write      writing behind a loop that does nothing, beside dd of as many bytes with a sync at the end
//   load       loading it, beside reading its files; each side with the files not in memory, and in memory
//
// Ends with lines NAME VALUE: ratios, median and quartiles.

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <fcntl.h>
#include <unistd.h>

#include <ATen/ATen.h>

#include "shoal/bench/paired.h"
#include "shoal/checkpoint/saver.h"
#include "shoal/checkpoint/training_state.h"
#include "shoal/cluster/membership.h"
#include "shoal/comm/world.h"
#include "shoal/config/load.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/quantities.h"
#include "shoal/parallel/ranks.h"
#include "shoal/plan/layout.h"
#include "shoal/state/checkpoint.h"
#include "shoal/state/checkpoint_writer.h"
#include "shoal/verify/side.h"

#include "app/arguments.h"

namespace {

namespace fs = std::filesystem;
using shoal::bench::Quartiles;
using shoal::bench::quartiles_of;
using shoal::bench::steady_seconds;

template <class Work>
double seconds_of(const Work& work) {
  const double began = steady_seconds();
  work();
  return steady_seconds() - began;
}

// Ratios of two series, round by round.
Quartiles ratios(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> all;
  for (size_t i = 0; i < a.size(); ++i) all.push_back(a[i] / b[i]);
  return quartiles_of(all);
}

// The next reader gets them from the disk.
void forget(const fs::path& directory) {
  for (const auto& entry : fs::directory_iterator(directory)) {
    const shoal::UniqueFd fd(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC));
    (void)::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
  }
}

// All bytes of all files, a MiB at a time into one buffer.
void read_files(const fs::path& directory) {
  std::vector<char> buffer(size_t{1} << 20);
  for (const auto& entry : fs::directory_iterator(directory)) {
    const shoal::UniqueFd fd(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC));
    while (::read(fd.get(), buffer.data(), buffer.size()) > 0) {
    }
  }
}

class Bench {
 public:
  Bench(fs::path directory, int rounds)
      : directory_(std::move(directory)),
        rounds_(rounds),
        config_(shoal::config::load_or_throw(
            {.sets = {"model.layers=12", "model.heads=12", "model.width=768", "model.context=64",
                      "model.vocab_size=50257", "train.batch=2", "parallel.sharding=no_shard"},
             .job = shoal::config::JobSize{1, 1}})),
        world_(shoal::comm::World::record(0, 1, nullptr)),
        ranks_(*world_, config_),
        side_(config_, ranks_),
        saver_(*world_, directory_) {
    take_step();
    saver_.prepare(state());
  }

  void stall() {
    save();
    const uint64_t bytes = saved_.bytes;
    std::vector<char> from(bytes, 1);
    std::vector<char> to(bytes, 2);
    std::vector<double> copies;
    std::vector<double> stalls;
    for (int i = 0; i < rounds_; ++i) {
      copies.push_back(seconds_of([&] { std::memcpy(to.data(), from.data(), bytes); }));
      stalls.push_back(seconds_of([&] { begin(); }));
      saver_.finish();
    }
    std::cout << shoal::format("{} bytes: memcpy {} s, stall {} s\n", bytes,
                               quartiles_of(copies).text(3), quartiles_of(stalls).text(3));
    figure("stall", ratios(stalls, copies));
  }

  void steps() {
    std::vector<double> quiet;
    std::vector<double> behind;
    for (int i = 0; i < rounds_; ++i) {
      begin();
      int taken = 0;
      const double seconds = seconds_of([&] {
        while (saver_.status().busy) {
          take_step();
          ++taken;
        }
      });
      saver_.finish();
      behind.push_back(seconds / std::max(taken, 1));
      quiet.push_back(seconds_of([&] {
                        for (int k = 0; k < std::max(taken, 1); ++k) take_step();
                      }) /
                      std::max(taken, 1));
    }
    std::cout << shoal::format("a step {} s, while a save is written {} s\n",
                               quartiles_of(quiet).text(3), quartiles_of(behind).text(3));
    figure("steps_behind", ratios(behind, quiet));
  }

  void write() {
    std::vector<double> ours;
    std::vector<double> dd;
    const std::string command =
        shoal::format("dd if=/dev/zero of={}/dd.bin bs=1M count={} conv=fdatasync status=none",
                      directory_.string(), saved_.bytes >> 20);
    for (int i = 0; i < rounds_; ++i) {
      save();
      ours.push_back(saved_.write_seconds);
      fs::remove_all(directory_ / shoal::state::step_directory(1));
      dd.push_back(seconds_of([&] {
        if (std::system(command.c_str()) != 0) throw shoal::DataError("dd failed");
      }));
      fs::remove(directory_ / "dd.bin");
    }
    std::cout << shoal::format("write {} s, dd {} s\n", quartiles_of(ours).text(3),
                               quartiles_of(dd).text(3));
    figure("write_speed_of_dd", ratios(dd, ours));
  }

  void load(bool in_memory) {
    save();
    const fs::path path = directory_ / shoal::state::step_directory(1);
    std::vector<double> ours;
    std::vector<double> plain;
    const auto prepared = [&](const auto& work) {
      if (in_memory)
        read_files(path);
      else
        forget(path);
      return seconds_of(work);
    };
    for (int i = 0; i < rounds_; ++i) {
      ours.push_back(prepared([&] {
        const shoal::state::Checkpoint checkpoint(path);
        side_.model().set_masters([&] { shoal::checkpoint::load(checkpoint, state()); });
      }));
      plain.push_back(prepared([&] { read_files(path); }));
    }
    std::cout << shoal::format("load {} s, reading {} s, {}\n", quartiles_of(ours).text(3),
                               quartiles_of(plain).text(3),
                               in_memory ? "from memory" : "from the disk");
    figure(in_memory ? "load_speed_of_reading_memory" : "load_speed_of_reading_disk",
           ratios(plain, ours));
  }

  [[nodiscard]] const std::string& figures() const { return figures_; }

 private:
  shoal::checkpoint::TrainingState state() { return {*world_, side_.model()}; }

  void begin() {
    saver_.begin(1, state(), {}, {.after = [this](const auto& saved) { saved_ = saved; }});
  }

  void save() {
    begin();
    saver_.finish();
  }

  void take_step() {
    (void)side_.gradients_of(0);
    (void)side_.update();
  }

  void figure(const std::string& name, const Quartiles& value) {
    figures_ += shoal::format("checkpoint.{} {}\n", name, value.text(3));
  }

  fs::path directory_;
  int rounds_;
  shoal::config::RunConfig config_;
  std::unique_ptr<shoal::comm::World> world_;
  shoal::parallel::Ranks ranks_;
  shoal::verify::Side side_;
  shoal::checkpoint::Saver saver_;
  shoal::checkpoint::SavedCheckpoint saved_;
  std::string figures_;
};

}  // namespace

int main(int argc, char** argv) {
  std::string directory = "checkpoint_bench.tmp";
  int rounds = 7;
  shoal::app::Arguments command("checkpoint_bench", "What a checkpoint of GPT-2 124M costs.");
  command.option("--directory", directory, "where to write; emptied", {.shown = "DIR"});
  command.option("--rounds", rounds, "of each pair", {.shown = "N", .range = {{1, 1000}}});
  if (!command.parse({argv + 1, argv + argc})) return 0;
  fs::remove_all(directory);
  Bench bench(directory, rounds);
  bench.stall();
  bench.steps();
  bench.write();
  bench.load(/*in_memory=*/false);
  bench.load(/*in_memory=*/true);
  std::cout << "\n" << bench.figures();
  fs::remove_all(directory);
  return 0;
}
