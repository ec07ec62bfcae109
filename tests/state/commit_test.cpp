// What a commit leaves behind when it cannot finish: for every call by which it writes, the process
// killed there, and the call failing there; then the same at random moments.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <iostream>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/state/checkpoint.h"
#include "shoal/state/checkpoint_store.h"
#include "shoal/state/checkpoint_writer.h"
#include "shoal/state/safetensors.h"

#include "tests/state/plain_tensor.h"
#include "tests/state/system_calls.h"
#include "tests/support/error_text.h"
#include "tests/support/temp_dir.h"

namespace shoal::state {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tests::error_text;
using tests::stop_watching;
using tests::TempDir;
using tests::Then;
using tests::watch_system_calls;

// A checkpoint of three ranks whose content follows from a seed.
PlainTensor content_of(uint64_t seed) {
  Random random(seed);
  return {{"t", DType::kBf16, {31, 1009}}, random};
}

fs::path save(const fs::path& root, uint64_t step, uint64_t seed) {
  const PlainTensor tensor = content_of(seed);
  return save_pieces(root, step,
                     {{piece_of(tensor, {{0, 0}, {31, 500}})},
                      {piece_of(tensor, {{0, 500}, {17, 509}})},
                      {piece_of(tensor, {{17, 500}, {14, 509}})}},
                     {{"seed", std::to_string(seed)}});
}

// Whole, and the content of the seed it names.
uint64_t seed_in(const fs::path& path) {
  (void)verify(path);
  const Checkpoint checkpoint(path);
  const uint64_t seed = std::stoull(checkpoint.values().at("seed"));
  const PlainTensor expected = content_of(seed);
  std::vector<std::byte> bytes(expected.bytes.size());
  checkpoint.read("t", bytes);
  EXPECT_EQ(bytes, expected.bytes);
  return seed;
}

// Whether a process of its own got to the end of `work`.
bool survives(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      work();
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status)) {
    EXPECT_EQ(WEXITSTATUS(status), 0);
    return true;
  }
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  return false;
}

// By which a save of three ranks changes the disk.
constexpr size_t kCalls = 15;

TEST(Commit, SyncsEveryFileThenTheManifestThenTheName) {
  const TempDir dir;
  save(dir / "root", 1, 1);
  watch_system_calls({});
  save(dir / "root", 2, 2);
  std::vector<std::string> seen = stop_watching();
  for (std::string& call : seen) {  // the name that was made up
    if (const size_t at = call.find(".tmp-"); at != std::string::npos) call.replace(at, 13, ".tmp");
  }
  EXPECT_THAT(seen, ElementsAre("make step-000000002.tmp",             //
                                "write rank-00000-00000.safetensors",  // its piece
                                "write rank-00000-00000.safetensors",  // its header
                                "sync rank-00000-00000.safetensors",   //
                                "write rank-00001-00000.safetensors",  //
                                "write rank-00001-00000.safetensors",  //
                                "sync rank-00001-00000.safetensors",   //
                                "write rank-00002-00000.safetensors",  //
                                "write rank-00002-00000.safetensors",  //
                                "sync rank-00002-00000.safetensors",   //
                                "write manifest.json",                 //
                                "sync manifest.json",                  //
                                "sync step-000000002.tmp",             // the names in it
                                "rename step-000000002.tmp step-000000002", "sync root"));
  EXPECT_EQ(seen.size(), kCalls);
}

TEST(Commit, KilledAtAnyCallLeavesTheOldAndPerhapsTheNew) {
  const TempDir dir;
  save(dir.path(), 1, 1);
  size_t at = 0;
  size_t committed = 0;
  const auto work = [&] {
    watch_system_calls({.then = Then::kDie, .at = at});
    save(dir.path(), 2, 2);
    prune(dir.path(), {.keep = 1});
  };
  for (; !survives(work); ++at) {
    const auto newest = latest(dir.path());
    ASSERT_TRUE(newest) << at;
    EXPECT_EQ(seed_in(newest->path), newest->step) << at;
    for (const CommittedCheckpoint& one : checkpoints_in(dir.path()))
      EXPECT_EQ(seed_in(one.path), one.step) << at;
    committed += newest->step == 2 ? 1 : 0;
    remove_unfinished(dir.path());
    // Nothing is left that has the name of a checkpoint and is none.
    EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}),
              std::ssize(checkpoints_in(dir.path())))
        << at;
    save(dir.path(), 1, 1);
    fs::remove_all(dir / "step-000000002");
  }
  EXPECT_GT(at, kCalls);
  EXPECT_GT(committed, 2U);  // killed between the name and the end of the pruning
  std::cout << "killed at each of " << at << " calls, " << committed
            << " of them with the new one there: a whole checkpoint after every one\n";
  EXPECT_EQ(checkpoints_in(dir.path()).size(), 1U);
}

TEST(Commit, KilledAtAnyCallWhileReplacingLeavesTheOldOrTheNew) {
  const TempDir dir;
  size_t at = 0;
  size_t replaced = 0;
  const auto work = [&] {
    watch_system_calls({.then = Then::kDie, .at = at});
    save(dir.path(), 1, 2);
  };
  for (save(dir.path(), 1, 1); !survives(work); ++at) {
    const uint64_t seed = seed_in(dir / "step-000000001");
    EXPECT_TRUE(seed == 1 || seed == 2);
    replaced += seed == 2 ? 1 : 0;
    remove_unfinished(dir.path());
    save(dir.path(), 1, 1);
  }
  EXPECT_GE(at, kCalls);
  EXPECT_GT(replaced, 0U);
  std::cout << "killed at each of " << at << " calls while replacing, " << replaced
            << " too late\n";
  EXPECT_EQ(seed_in(dir / "step-000000001"), 2U);
}

TEST(Commit, ReplacesWhereNamesCannotBeExchanged) {
  const TempDir dir;
  save(dir.path(), 1, 1);
  watch_system_calls({.can_exchange = false});
  save(dir.path(), 1, 2);
  stop_watching();
  EXPECT_EQ(seed_in(dir / "step-000000001"), 2U);
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 1);
}

TEST(Commit, KilledAtAnyCallWhereNamesCannotBeExchangedLeavesTheOldOrTheNew) {
  const TempDir dir;
  size_t at = 0;
  size_t restored = 0;
  const auto work = [&] {
    watch_system_calls({.then = Then::kDie, .at = at, .can_exchange = false});
    save(dir.path(), 1, 2);
  };
  for (save(dir.path(), 1, 1); !survives(work); ++at) {
    const bool was_gone = !fs::exists(dir / "step-000000001");
    restore_replaced(dir.path());
    const uint64_t seed = seed_in(dir / "step-000000001");
    EXPECT_TRUE(was_gone ? seed == 1 : seed == 1 || seed == 2) << at;
    restored += was_gone ? 1 : 0;
    remove_unfinished(dir.path());
    EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 1) << at;
    save(dir.path(), 1, 1);
  }
  EXPECT_EQ(restored, 1U);  // between the two renames
  std::cout << "killed at each of " << at << " calls without exchange, once without the name\n";
}

TEST(Commit, AnyCallThatFailsIsAnErrorAndLeavesTheOld) {
  for (const int error : {ENOSPC, EIO}) {
    const TempDir dir;
    save(dir.path(), 1, 1);
    size_t at = 0;
    for (;; ++at) {
      watch_system_calls({.then = Then::kFail, .at = at, .error = error});
      const std::string text = error_text<DataError>([&] { save(dir.path(), 2, 2); });
      const std::vector<std::string> seen = stop_watching();
      if (seen.size() <= at) break;
      EXPECT_THAT(text, HasSubstr(describe_errno(error))) << seen[at];
      EXPECT_THAT(text, HasSubstr(dir.path().string())) << seen[at];
      EXPECT_EQ(seed_in(dir / "step-000000001"), 1U);
      const auto newest = latest(dir.path());
      // Only the last call comes after the name: then it is there, but perhaps not on the disk yet.
      const bool was_named = at + 1 == kCalls;
      EXPECT_EQ(newest->step, was_named ? 2U : 1U) << seen[at];
      fs::remove_all(dir / "step-000000002");
      EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 1) << seen[at];
    }
    EXPECT_EQ(at, kCalls);
    EXPECT_EQ(seed_in(dir / "step-000000002"), 2U);
  }
}

TEST(Commit, AFullDiskIsAnErrorAndLeavesTheOld) {
  const TempDir dir;
  save(dir.path(), 1, 1);
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto on_signal = std::signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t bytes : {rlim_t{0}, rlim_t{1}, rlim_t{4096}, rlim_t{20'003}, rlim_t{35'000}}) {
    struct rlimit limit = before;
    limit.rlim_cur = bytes;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    const std::string text = error_text<DataError>([&] { save(dir.path(), 2, 2); });
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_THAT(text, HasSubstr("rank-00000-00000.safetensors: File too large")) << bytes;
    EXPECT_EQ(latest(dir.path())->step, 1U);
    EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 1);
  }
  std::signal(SIGXFSZ, on_signal);
  EXPECT_EQ(seed_in(dir / "step-000000001"), 1U);
}

TEST(Commit, KilledAtRandomMomentsLeavesWholeCheckpoints) {
  const TempDir dir;
  Random random(9);
  const auto began = std::chrono::steady_clock::now();
  save(dir.path(), 1, 1);
  const auto one_commit = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - began);
  uint64_t last = 1;
  for (int round = 0; round < 40; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (uint64_t step = last + 1;; ++step) {
        save(dir.path(), step, step);
        prune(dir.path(), {.keep = 2});
      }
    }
    ::usleep(static_cast<useconds_t>(below(random, 4 * one_commit.count())));
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    const std::vector<CommittedCheckpoint> found = checkpoints_in(dir.path());
    for (const CommittedCheckpoint& one : found) EXPECT_EQ(seed_in(one.path), one.step);
    ASSERT_FALSE(found.empty());
    EXPECT_GE(found.back().step, last);
    last = found.back().step;
    remove_unfinished(dir.path());
  }
  EXPECT_GT(last, 1U);
  std::cout << "killed 40 times in " << last << " commits\n";
}

TEST(SafetensorsFile, AnyCallThatFailsLeavesTheOld) {
  const TempDir dir;
  const auto write = [&](const std::string& content) {
    SafetensorsWriter writer(dir / "x", {{"a", DType::kU8, {3}}});
    writer.write("a", std::as_bytes(std::span(content)));
    writer.finish();
  };
  write("old");
  size_t at = 0;
  for (;; ++at) {
    watch_system_calls({.then = Then::kFail, .at = at});
    const std::string text = error_text<DataError>([&] { write("new"); });
    const std::vector<std::string> seen = stop_watching();
    if (seen.size() <= at) break;
    EXPECT_THAT(text, HasSubstr("No space left on device")) << seen[at];
    const Safetensors file(dir / "x");
    const auto first = static_cast<char>(file.bytes(*file.find("a")).front());
    EXPECT_EQ(first, at == 5 ? 'n' : 'o') << seen[at];  // after the rename only the sync is missing
    if (at == 5) write("old");
    EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 1) << seen[at];
  }
  EXPECT_EQ(at, 6U);  // header, tensor, sync twice, rename, sync of the directory
}

}  // namespace
}  // namespace shoal::state
