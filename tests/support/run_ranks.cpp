#include "tests/support/run_ranks.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <sstream>

#include <gtest/gtest.h>

#include "shoal/cluster/launch.h"
#include "shoal/cluster/subprocess.h"
#include "shoal/cluster/supervisor.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"

#include "tests/support/temp_dir.h"

namespace shoal::tests {
namespace {

// Tells a child which run_ranks() call of the test it is for.
constexpr const char* kCallVariable = "SHOAL_TEST_CALL";

// Returns how many times the current test has called run_ranks().
int count_call() {
  static const ::testing::TestInfo* test = nullptr;
  static int calls = 0;
  const ::testing::TestInfo* current = ::testing::UnitTest::GetInstance()->current_test_info();
  calls = current == test ? calls + 1 : 1;
  test = current;
  return calls;
}

[[noreturn]] void be_a_rank(const RankBody& body) {
  int code = 0;
  try {
    const cluster::Environment environment = cluster::Environment::of_this_process();
    body(cluster::detect_membership(environment), environment);
    code = ::testing::Test::HasFailure() ? 1 : 0;
  } catch (const Error& e) {
    std::cerr << "error: " << e.what() << std::endl;
    cluster::leave_last_words(e.what());
    code = static_cast<int>(e.exit_code());
  } catch (const std::exception& e) {
    std::cerr << "error: " << e.what() << std::endl;
    cluster::leave_last_words(e.what());
    code = static_cast<int>(ExitCode::kBug);
  }
  std::cout << std::flush;
  std::_Exit(code);  // threads that wait for a lost peer must not keep the process alive
}

std::vector<std::string> this_test_again() {
  const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
  return {std::filesystem::read_symlink("/proc/self/exe").string(),
          std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name(),
          "--gtest_brief=1"};
}

std::string outputs_in(const std::filesystem::path& directory) {
  std::string text;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    text += "--- output of " + entry.path().filename().string() + "\n" +
            read_file(entry.path(), 64 << 20) + "\n";
  }
  return text;
}

// Prints the output of rank 0 of a test that passed.
void show_figures(const std::filesystem::path& output) {
  if (!std::filesystem::exists(output)) return;
  std::istringstream lines(read_file(output, 64 << 20));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("Running main()")) std::cout << line << "\n";
  }
}

}  // namespace

void run_ranks(int num_ranks, const RankBody& body, const RunRanksOptions& options) {
  const int call = count_call();
  if (const char* mine = std::getenv(kCallVariable)) {
    if (std::to_string(call) == mine) be_a_rank(body);
    return;  // this child is for a later call of the test
  }
  const TempDir outputs;
  std::map<std::string, std::string> environment = options.environment;
  environment[kCallVariable] = std::to_string(call);
  environment["GTEST_TOTAL_SHARDS"] = "1";  // a rank runs its test, whatever shard that is in
  environment["GTEST_SHARD_INDEX"] = "0";
  environment.emplace("OMP_NUM_THREADS", "1");  // the ranks share this machine's cores
  std::vector<cluster::Program> programs;
  if (options.launcher == Launcher::kMpirun) {
    std::vector<std::string> arguments = {"mpirun", "--allow-run-as-root",    "--oversubscribe",
                                          "--mca",  "mpi_yield_when_idle",    "1",
                                          "-n",     std::to_string(num_ranks)};
    for (const std::string& word : this_test_again()) arguments.push_back(word);
    programs.push_back({arguments, environment, (outputs / "mpirun").string()});
  } else {
    programs = cluster::programs_of_host({.command = this_test_again(), .ranks = num_ranks});
    for (size_t rank = 0; rank < programs.size(); ++rank) {
      programs[rank].environment.insert(environment.begin(), environment.end());
      programs[rank].output = (outputs / ("rank " + std::to_string(rank))).string();
    }
  }
  const cluster::JobResult result =
      cluster::supervise(programs, {.grace = std::chrono::seconds(5)});
  EXPECT_EQ(result.exit_code, options.expected_exit_code) << result.cause << "\n"
                                                          << outputs_in(outputs.path());
  EXPECT_NE(result.cause.find(options.expected_cause), std::string::npos)
      << result.cause << "\n"
      << outputs_in(outputs.path());
  if (!::testing::Test::HasFailure()) show_figures(outputs / "rank 0");
}

}  // namespace shoal::tests
