// head_loss_bench -- what the head's loss costs: its time beside its three bare matrix products, and its
// memory beside plain operators, at GPT-2's size.
//
//   build/release/head_loss_bench                    # 4 x 1024 tokens
//   build/release/head_loss_bench --tokens 1024
//
// The lines at the end are figures: times at most 1.15, memory at most 1/3, in pieces at most 1/10.

#include <iostream>
#include <string>
#include <vector>

#include "shoal/bench/paired.h"
#include "shoal/core/error.h"

#include "app/arguments.h"
#include "tests/model/head_case.h"
#include "tests/support/counting_allocator.h"

namespace {

using shoal::tests::CountingAllocator;
using shoal::tests::HeadCase;

constexpr int64_t kClasses = 50'257;
constexpr int64_t kWidth = 768;
constexpr int64_t kRowsAtOnce = 256;

struct Type {
  const char* name;
  at::ScalarType dtype;
};

// Before anything is timed: tensors that are kept for the timing would not be counted.
std::string measure_memory(const Type& type, int64_t tokens) {
  CountingAllocator& memory = CountingAllocator::installed();
  HeadCase head(tokens, kClasses, kWidth, type.dtype);
  // Plain operators make the matrix's gradient anew, a unit has it already: counted with both.
  const auto gradient = static_cast<int64_t>(head.unit.flat_gradient().nbytes());
  const int64_t plain = memory.peak_of([&] { (void)head.by_plain_operators(); });
  const int64_t whole = memory.peak_of([&] { head.by_one_function(0); }) + gradient;
  const int64_t pieces = memory.peak_of([&] { head.by_one_function(kRowsAtOnce); }) + gradient;
  const auto share = [&](int64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(plain);
  };
  std::cout << shoal::format(
      "{}: {} tokens, plain {:.1f} MB, ours {:.1f} MB, in pieces of {} {:.1f} MB\n", type.name,
      tokens, static_cast<double>(plain) / 1e6, static_cast<double>(whole) / 1e6, kRowsAtOnce,
      static_cast<double>(pieces) / 1e6);
  return shoal::format(
      "head_loss.{0}.memory_ratio {1:.4f}\nhead_loss.{0}.memory_ratio_in_pieces {2:.4f}\n",
      type.name, share(whole), share(pieces));
}

std::string measure_time(const Type& type, int64_t tokens, int rounds) {
  HeadCase head(tokens, kClasses, kWidth, type.dtype);
  at::Tensor dweight = at::empty_like(head.weight.value());
  head.by_one_function(0);  // pages and caches of the libraries underneath
  head.multiply_only(dweight);
  const shoal::bench::Paired paired =
      shoal::bench::measure_paired({.a = [&] { head.by_one_function(0); },
                                    .b = [&] { head.multiply_only(dweight); },
                                    .rounds = rounds,
                                    .calls = 1});
  std::cout << shoal::format("{}: {} tokens, ours {:.0f} ms, three products {:.0f} ms, ratio {}\n",
                             type.name, tokens, paired.a_seconds.median * 1e3,
                             paired.b_seconds.median * 1e3, paired.ratio.text(3));
  return shoal::format("head_loss.{}.time_ratio {:.3f}\n", type.name, paired.ratio.median);
}

}  // namespace

int main(int argc, char** argv) {
  int tokens = 4 * 1024;
  int rounds = 21;
  std::string only;
  try {
    shoal::app::Arguments command("head_loss_bench",
                                  "Time and memory of the head's loss beside plain operators.");
    command.option("--tokens", tokens, "rows of scores", {.shown = "N", .range = {{1, 1 << 20}}});
    command.option("--rounds", rounds, "alternations", {.shown = "N", .range = {{21, 10001}}});
    command.option("--only", only, "fp32 or bf16; without it both", {.shown = "TYPE"});
    if (!command.parse({argv + 1, argv + argc})) return 0;
    std::vector<Type> types = {{"fp32", at::kFloat}, {"bf16", at::kBFloat16}};
    if (!only.empty()) std::erase_if(types, [&](const Type& type) { return only != type.name; });
    if (types.empty()) throw shoal::UsageError("head_loss_bench: --only is fp32 or bf16");
    std::string figures;
    for (const Type& type : types) figures += measure_memory(type, tokens);
    for (const Type& type : types) figures += measure_time(type, tokens, rounds);
    std::cout << figures;
  } catch (const shoal::Error& e) {
    std::cerr << "error: " << e.what() << "\n";
    return static_cast<int>(e.exit_code());
  }
  return 0;
}
