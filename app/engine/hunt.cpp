#include "app/engine/hunt.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>

#include <unistd.h>

#include <ATen/Parallel.h>

#include "shoal/checkpoint/resume.h"
#include "shoal/checkpoint/training_state.h"
#include "shoal/cluster/launch.h"
#include "shoal/cluster/supervisor.h"
#include "shoal/comm/world.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/quantities.h"
#include "shoal/verify/agreement.h"
#include "shoal/verify/random_case.h"
#include "shoal/verify/side.h"
#include "shoal/verify/tolerance.h"

#include "app/engine/job.h"
#include "app/progress_line.h"

namespace shoal::app {
namespace {

namespace fs = std::filesystem;
using verify::RandomCase;

constexpr size_t kCasesOfAJob = 200;
constexpr int64_t kComparedSteps = 2;  // steps that are compared
constexpr size_t kMostBytes = size_t{64} << 20;
// A case takes a fraction of a second: a rank that waits this long hangs.
constexpr Duration kDeadline = std::chrono::seconds(20);

// A case, and the layout that saved its checkpoint when it resumes from one.
struct Hunted {
  uint64_t number = 0;
  RandomCase layout;
  std::optional<RandomCase> saved_by = std::nullopt;
};

// Returns the number of steps before the save of a case that resumes: 1 or 2. A fault shows in the
// first step after it, and round-off grows from step to step: tenfold in small post-norm models.
int64_t steps_before_save(uint64_t number) { return 1 + static_cast<int64_t>(number % 2); }

// What ranks do with their cases; before a layout resumes, another one saves.
enum class Task { kCompare, kSave, kResume };

// ---- files in the directory of a hunt ----

fs::path cases_file(const fs::path& directory) { return directory / "cases"; }
fs::path report_file(const fs::path& directory) { return directory / "report"; }
fs::path saves_of(const fs::path& directory, uint64_t number) {
  return directory / "saves" / std::to_string(number);
}

std::string line_of(uint64_t number, const RandomCase& of) {
  std::string line = format("{} {}", number, of.ranks);
  for (const auto& [key, value] : of.sets) line += format(" {}={}", key, value);
  return line + "\n";
}

struct Work {
  Task task = Task::kCompare;
  std::vector<Hunted> cases;
};

Work work_in(const fs::path& directory) {
  Work work;
  std::istringstream lines(read_file(cases_file(directory), kMostBytes));
  int task = 0;
  lines >> task >> std::ws;
  work.task = static_cast<Task>(task);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Hunted one;
    words >> one.number >> one.layout.ranks;
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      one.layout.sets[word.substr(0, equals)] = word.substr(equals + 1);
    }
    work.cases.push_back(std::move(one));
  }
  return work;
}

// The failures of each finished case, by its number; the last case may have been begun and not
// finished.
struct Reported {
  std::map<uint64_t, std::vector<std::string>> failures;
  std::optional<uint64_t> unfinished;
};

Reported read_report(const fs::path& path) {
  Reported reported;
  if (!fs::exists(path)) return reported;
  std::istringstream lines(read_file(path, kMostBytes));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what;
    uint64_t number = 0;
    words >> what >> number;
    if (what == "begun") reported.unfinished = number;
    if (what == "wrong") reported.failures[number].push_back(line.substr(line.find(": ") + 2));
    if (what == "done") {
      reported.failures[number];
      reported.unfinished.reset();
    }
  }
  return reported;
}

// ---- the ranks ----

class Reporter {
 public:
  explicit Reporter(const fs::path& path) : fd_(create_file(path)), path_(path) {}

  void say(const std::string& line) {
    const std::string text = line + "\n";
    if (::write(fd_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      throw_file_error("write", path_);
  }

 private:
  UniqueFd fd_;
  fs::path path_;
};

std::vector<std::string> run_case(const Hunted& one,
                                  Task task,
                                  comm::World& world,
                                  const fs::path& saves) {
  const config::RunConfig config = one.layout.config();
  const auto state_of = [&](verify::Side& side) {
    return checkpoint::TrainingState{world, side.model()};
  };
  const int64_t before = task == Task::kCompare ? 0 : steps_before_save(one.number);
  if (task == Task::kSave) {
    const parallel::Ranks ranks(world, config);
    verify::Side side(config, ranks);
    for (int64_t step = 0; step < before; ++step) {
      side.gradients_of(step);
      side.update();
    }
    checkpoint::save(saves, static_cast<uint64_t>(before), state_of(side), {});
    return {};
  }
  verify::CompareOptions compare{.steps = kComparedSteps, .steps_before = before};
  if (before > 0)
    compare.resume = [&](verify::Side& layout) {
      checkpoint::resume_newest(saves, state_of(layout), [](const checkpoint::Described&) {});
    };
  const verify::Agreement found = verify::compare_with_one_rank(config, world, compare);
  return verify::outside(found, verify::tolerance_of(config, found));
}

// ---- the hunter ----

class Hunter {
 public:
  explicit Hunter(const HuntOptions& options) : options_(options) {
    std::string name = (fs::temp_directory_path() / "shoal-hunt-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw_file_error("create", name);
    scratch_ = name;
  }
  Hunter(const Hunter&) = delete;
  Hunter& operator=(const Hunter&) = delete;
  ~Hunter() {
    std::error_code ignored;
    fs::remove_all(scratch_, ignored);
  }

  // Returns the failures of each case; cases that agree are absent.
  std::map<uint64_t, std::vector<std::string>> run(const std::vector<Hunted>& cases) {
    std::map<uint64_t, std::vector<std::string>> wrong;
    std::vector<Hunted> savers;
    for (const Hunted& one : cases) {
      if (one.saved_by) savers.push_back({one.number, *one.saved_by, one.saved_by});
    }
    run_jobs(savers, Task::kSave, wrong);
    std::vector<Hunted> rest;
    for (const Hunted& one : cases) {
      if (!wrong.contains(one.number)) rest.push_back(one);
    }
    run_jobs(rest, options_.resumes ? Task::kResume : Task::kCompare, wrong);
    fs::remove_all(scratch_ / "saves");
    return wrong;
  }

  [[nodiscard]] int64_t done() const { return done_; }

 private:
  void run_jobs(const std::vector<Hunted>& cases,
                Task task,
                std::map<uint64_t, std::vector<std::string>>& wrong) {
    std::map<int, std::vector<Hunted>> by_ranks;
    for (const Hunted& one : cases) by_ranks[one.layout.ranks].push_back(one);
    for (auto& [ranks, waiting] : by_ranks) {
      while (!waiting.empty()) {
        const size_t count = std::min(waiting.size(), kCasesOfAJob);
        const std::vector<Hunted> job(waiting.begin(),
                                      waiting.begin() + static_cast<ptrdiff_t>(count));
        const std::string cause = run_job(ranks, job, task);
        const Reported reported = read_report(report_file(scratch_));
        size_t finished = 0;
        for (const auto& [number, failures] : reported.failures) {
          ++finished;
          if (task != Task::kSave) ++done_;
          if (!failures.empty()) wrong[number] = failures;
        }
        if (reported.unfinished) {
          wrong[*reported.unfinished] = {cause};
          ++finished;
        } else if (finished == 0) {
          throw Error(ExitCode::kBug, "the ranks of a hunt do not even begin: " + cause);
        }
        waiting.erase(waiting.begin(), waiting.begin() + static_cast<ptrdiff_t>(finished));
      }
    }
  }

  // Returns why the job ended early; empty when it did not.
  std::string run_job(int ranks, const std::vector<Hunted>& cases, Task task) {
    std::string text = format("{}\n", static_cast<int>(task));
    for (const Hunted& one : cases) text += line_of(one.number, one.layout);
    write_file_atomically(cases_file(scratch_), text);
    fs::remove(report_file(scratch_));
    const fs::path output = scratch_ / "output";
    fs::create_directories(output);
    std::vector<cluster::Program> programs = cluster::programs_of_host(
        {.command = {fs::read_symlink("/proc/self/exe").string(), "verify"},
         .ranks = ranks,
         .output = output.string()});
    for (cluster::Program& program : programs)
      program.environment[kHuntDirectory] = scratch_.string();
    return cluster::supervise(programs, {.grace = std::chrono::seconds(1)}).cause;
  }

  HuntOptions options_;
  fs::path scratch_;
  std::atomic<int64_t> done_ = 0;
};

Hunted drawn(const HuntOptions& options, uint64_t number) {
  const verify::DrawOptions draw{.most_ranks = options.most_ranks};
  Hunted one{.number = number, .layout = verify::draw_case(options.seed, number, draw)};
  if (options.resumes)
    one.saved_by = verify::on_another_layout(one.layout, options.seed, number, draw);
  return one;
}

// Returns the model of `of` on the layout that saves it.
RandomCase saver_of(const RandomCase& of, const RandomCase& layout) {
  RandomCase saver{.ranks = layout.ranks, .sets = of.sets};
  std::erase_if(saver.sets, [](const auto& set) { return set.first.starts_with("parallel."); });
  for (const auto& [key, value] : layout.sets) {
    if (key.starts_with("parallel.")) saver.sets[key] = value;
  }
  return saver;
}

// Shrinks a failing case: takes the first simpler case that fails too, until none does or time is
// up. A few are tried at a time, because a case that hangs takes as long as a hundred that do not.
Hunted smallest(Hunter& hunter, Hunted found, std::vector<std::string>& failures) {
  constexpr size_t kAtATime = 12;
  constexpr double kMostSeconds = 300;
  const auto began = Clock::now();
  while (seconds_since(began) < kMostSeconds) {
    std::vector<Hunted> candidates;
    for (RandomCase& candidate : verify::simpler(found.layout)) {
      // The number modulo two decides the steps before a checkpoint, so it is kept.
      Hunted one{.number = found.number + 2 * (candidates.size() + 1),
                 .layout = std::move(candidate)};
      if (found.saved_by) one.saved_by = saver_of(one.layout, *found.saved_by);
      candidates.push_back(std::move(one));
    }
    const auto is_wrong = [&](size_t first) -> std::optional<Hunted> {
      const std::vector<Hunted> some(
          candidates.begin() + static_cast<ptrdiff_t>(first),
          candidates.begin() +
              static_cast<ptrdiff_t>(std::min(first + kAtATime, candidates.size())));
      const auto wrong = hunter.run(some);
      for (const Hunted& one : some) {
        const auto still = wrong.find(one.number);
        if (still == wrong.end()) continue;
        failures = still->second;
        return one;
      }
      return std::nullopt;
    };
    std::optional<Hunted> next;
    for (size_t first = 0; first < candidates.size() && !next; first += kAtATime)
      next = is_wrong(first);
    if (!next) break;
    next->number = found.number;
    found = std::move(*next);
  }
  return found;
}

void print_finding(const HuntOptions& options,
                   const Hunted& one,
                   const std::vector<std::string>& failures) {
  std::cout << format("case {} of seed {}: {}{}\n", one.number, options.seed, failures.front(),
                      failures.size() == 1 ? "" : format(", and {} more", failures.size() - 1));
  if (one.saved_by)
    std::cout << format("  resumed at step {} from a checkpoint of: {}\n",
                        steps_before_save(one.number), one.saved_by->command());
  std::cout << "  " << one.layout.command() << "\n" << std::flush;
}

}  // namespace

int hunt_as_rank(const std::string& directory) {
  Job job = start_job(std::nullopt, {}, RankCheck::kAnyWhenAlone);
  at::set_num_threads(1);
  comm::WorldOptions options = world_options(job);
  options.deadline = kDeadline;
  options.reuse_groups = true;
  const auto world = comm::World::join(job.me, job.environment, options);
  std::optional<Reporter> reporter;
  if (job.me.rank == 0) reporter.emplace(report_file(directory));
  const Work work = work_in(directory);
  for (const Hunted& one : work.cases) {
    if (reporter) reporter->say(format("begun {}", one.number));
    const std::vector<std::string> failures =
        run_case(one, work.task, *world, saves_of(directory, one.number));
    if (!reporter) continue;
    for (const std::string& failure : failures)
      reporter->say(format("wrong {}: {}", one.number, failure));
    reporter->say(format("done {}", one.number));
  }
  world->leave();
  return 0;
}

int hunt(const HuntOptions& options) {
  const auto began = Clock::now();
  Hunter hunter(options);
  std::atomic<int64_t> findings = 0;
  std::atomic<bool> shrinking = false;
  int64_t seen = 0;
  {
    const ProgressLine line([&] {
      return shrinking ? format("{} findings, {} cases tried to make the last one small, {:.0f} s",
                                findings.load(), hunter.done(), seconds_since(began))
                       : format("{} of {} cases, {} findings, {:.0f} s", hunter.done(),
                                options.cases, findings.load(), seconds_since(began));
    });
    // A few hundred at a time, so that each number of ranks has some and findings are printed soon.
    constexpr int64_t kAtATime = 350;
    for (int64_t first = 0; first < options.cases; first += kAtATime) {
      std::vector<Hunted> cases;
      for (int64_t i = first; i < std::min(first + kAtATime, options.cases); ++i)
        cases.push_back(drawn(options, static_cast<uint64_t>(i)));
      const auto wrong = hunter.run(cases);
      seen += static_cast<int64_t>(cases.size());
      for (const Hunted& one : cases) {
        const auto found = wrong.find(one.number);
        if (found == wrong.end()) continue;
        ++findings;
        std::vector<std::string> failures = found->second;
        print_finding(options, one, failures);
        if (options.stop_at_first) return static_cast<int>(ExitCode::kUnequal);
        shrinking = true;
        const Hunted smaller = smallest(hunter, one, failures);
        shrinking = false;
        std::cout << "made as small as it goes, ";
        print_finding(options, smaller, failures);
      }
    }
  }
  const double seconds = seconds_since(began);
  std::cout << format("{} cases of seed {} in {:.0f} s, {:.0f} a minute: {} finding{}\n", seen,
                      options.seed, seconds, static_cast<double>(seen) * 60 / seconds,
                      findings.load(), findings == 1 ? "" : "s");
  return findings == 0 ? 0 : static_cast<int>(ExitCode::kUnequal);
}

}  // namespace shoal::app
