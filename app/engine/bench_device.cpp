#include "app/engine/bench_device.h"

#include <algorithm>
#include <array>
#include <iostream>

#include <ATen/ATen.h>

#include "shoal/bench/fits.h"
#include "shoal/bench/paired.h"
#include "shoal/blueprint/activations.h"
#include "shoal/blueprint/launches.h"
#include "shoal/core/quantities.h"
#include "shoal/plan/cost.h"

#include "app/cluster_file.h"
#include "app/engine/device_bench.h"
#include "app/engine/device_cases.h"

namespace shoal::app {
namespace {

using bench::quartiles_of;
using bench::RatePoint;
using bench::undisturbed;
using config::Precision;

// Products of small and middle-sized models: the projections of their blocks, a head, odd shapes,
// few rows, narrow matrices.
constexpr std::array<ProductShape, 27> kProducts = {
    {{33, 67, 129},     {64, 64, 192},     {512, 64, 192},    {512, 64, 64},    {512, 64, 256},
     {512, 256, 64},    {2048, 64, 64},    {8192, 64, 256},   {8192, 256, 64},  {1024, 128, 512},
     {4096, 128, 384},  {4096, 512, 128},  {1024, 256, 768},  {1024, 256, 256}, {1024, 1024, 256},
     {128, 256, 1024},  {2048, 256, 257},  {1024, 512, 1536}, {1024, 512, 512}, {1024, 512, 2048},
     {1024, 2048, 512}, {1000, 300, 1100}, {128, 512, 2048},  {16, 768, 768},   {512, 768, 3072},
     {1024, 128, 8191}, {512, 256, 8191}}};

constexpr std::array<AttentionShape, 10> kAttentions = {{{8, 4, 64, 16},
                                                         {16, 4, 64, 32},
                                                         {16, 4, 64, 64},
                                                         {3, 5, 97, 40},
                                                         {8, 4, 128, 32},
                                                         {8, 4, 128, 64},
                                                         {4, 4, 256, 64},
                                                         {2, 4, 512, 32},
                                                         {2, 4, 512, 64},
                                                         {1, 4, 1024, 64}}};

const char* name_of(Precision precision) { return precision == Precision::kFp32 ? "fp32" : "bf16"; }

config::MeasuredSpec& measured_of(config::DeviceSpec& device, Precision precision) {
  return precision == Precision::kFp32 ? device.fp32 : device.bf16;
}

double& peak_of(config::DeviceSpec& device, Precision precision) {
  return precision == Precision::kFp32 ? device.fp32_tflops : device.bf16_tflops;
}

// Prints the work's rate when nobody disturbs it, and how much longer half and three quarters of the rounds took.
void tell(const std::string& name,
          double work,
          const char* unit,
          const std::vector<double>& seconds) {
  const bench::Quartiles all = quartiles_of(seconds);
  std::cout << format("{:<36} {:>10.1f} us  (x {:.2f} .. {:.2f})  {:>9.2f} {}\n", name,
                      all.low * 1e6, all.median / all.low, all.high / all.low, work / all.low / 1e9,
                      unit)
            << std::flush;
}

// ---- products and attention ----

void fit_products_into(DeviceBench& bench,
                       Precision precision,
                       const std::vector<bench::ProductTime>& times) {
  config::DeviceSpec& device = bench.cluster().device;
  const bench::ProductFit fit = bench::fit_products(times);
  double best = fit.rate;
  for (const bench::ProductTime& time : times)
    best = std::max(best, time.operations / time.seconds);
  double& peak = peak_of(device, precision);
  bench.set_peak(peak, best / 1e12);
  config::MeasuredSpec& measured = measured_of(device, precision);
  measured.products_share = rounded(std::clamp(fit.rate / (peak * 1e12), 1e-3, 1.0));
  measured.products_half_gflop = rounded(fit.half / 1e9);
  measured.products_gb_per_s.reset();
  if (fit.bandwidth > 0) measured.products_gb_per_s = rounded(fit.bandwidth / 1e9);
  std::cout << format(
      "{} products: {:.4g} TFLOP/s when large, half at {:.4g} GFLOP, bytes at {:.4g} "
      "GB/s, mean error of the fit {:.1f} %\n\n",
      name_of(precision), fit.rate / 1e12, fit.half / 1e9, fit.bandwidth / 1e9, 100 * fit.error);
}

void measure_products(DeviceBench& bench, Precision precision, double seconds) {
  const model::Materials materials = bench.materials(precision);
  const auto element = static_cast<double>(c10::elementSize(materials.dtype));
  std::vector<std::function<void()>> bodies;
  for (const ProductShape& shape : kProducts) bodies.push_back(product_case(shape, materials));
  for (const AttentionShape& shape : kAttentions)
    bodies.push_back(attention_case(shape, materials));
  const auto times = bench.measure(std::move(bodies), seconds,
                                   format("products and attention in {}", name_of(precision)));
  std::vector<bench::ProductTime> products;
  for (size_t i = 0; i < kProducts.size(); ++i) {
    const ProductShape& shape = kProducts[i];
    const double once = undisturbed(times[i]);
    // A training step has three of each: forward, and one for each gradient.
    products.push_back({shape.operations(), shape.elements() * element, once / 3});
    if (bench.speaks())
      tell(format("{} {} x {} x {}", name_of(precision), shape.rows, shape.in, shape.out),
           3 * shape.operations(), "GFLOP/s", times[i]);
  }
  std::vector<RatePoint> attention;
  for (size_t i = 0; i < kAttentions.size(); ++i) {
    const AttentionShape& shape = kAttentions[i];
    const std::vector<double>& all = times[kProducts.size() + i];
    const double heads = static_cast<double>(shape.sequences * shape.heads);
    const double operations = shape.operations_of_head();
    attention.push_back({operations / 1e9, heads * operations / undisturbed(all) / 1e12});
    if (bench.speaks())
      tell(format("{} attention {}x{}x{}x{}", name_of(precision), shape.sequences, shape.heads,
                  shape.tokens, shape.features),
           heads * operations, "GFLOP/s", all);
  }
  if (!bench.speaks()) return;
  fit_products_into(bench, precision, products);
  measured_of(bench.cluster().device, precision).attention = curve_of(attention);
}

// A large product alone: nobody trains in fp64.
void measure_fp64(DeviceBench& bench, double seconds) {
  constexpr ProductShape kLarge{512, 512, 512};
  const auto times = bench.measure({product_case(kLarge, bench.materials(Precision::kFp64))},
                                   seconds, "products in fp64");
  if (!bench.speaks()) return;
  tell("fp64 512 x 512 x 512", 3 * kLarge.operations(), "GFLOP/s", times.front());
  bench.set_peak(bench.cluster().device.fp64_tflops,
                 3 * kLarge.operations() / undisturbed(times.front()) / 1e12);
}

// ---- bytes ----

struct UnitShape {
  int64_t width;
  int heads;
  int64_t context;
  int64_t sequences;
  int64_t classes = 2;
};

// Narrow ones, in which products do not hide the rest; the first is nothing but launches.
constexpr std::array<UnitShape, 7> kBlocks = {{{16, 1, 8, 1},
                                               {64, 2, 64, 4},
                                               {64, 2, 64, 32},
                                               {96, 3, 96, 64},
                                               {128, 2, 128, 2},
                                               {128, 2, 128, 8},
                                               {256, 4, 128, 4}}};

constexpr std::array<UnitShape, 4> kHeads = {
    {{64, 2, 64, 8, 257}, {128, 2, 128, 16, 257}, {64, 2, 64, 8, 4099}, {128, 2, 128, 8, 8191}}};

// What is measured of one kind of units: the shape and its rest, the seconds beside products and
// attention.
struct MeasuredUnit {
  std::string name;
  config::UnitKind kind;
  config::ModelConfig model;
  int64_t sequences;
  double rest = 0;

  [[nodiscard]] double launches() const {
    const auto of = [&](blueprint::Pass pass) {
      return blueprint::launches_of(kind, model, pass, config::Recompute::kNone);
    };
    return of(blueprint::Pass::kForward) + of(blueprint::Pass::kBackward);
  }
  // Returns the bytes that its forward pass leaves.
  [[nodiscard]] double left(Precision precision) const {
    return static_cast<double>(blueprint::activations_of(kind, model, {.sequences = sequences},
                                                         blueprint::element_bytes(precision),
                                                         config::Recompute::kNone)
                                   .left());
  }
};

config::ModelConfig model_of(const UnitShape& shape, bool llama) {
  config::ModelConfig model;
  model.layers = 1;
  model.width = shape.width;
  model.heads = shape.heads;
  model.context = shape.context;
  model.vocab_size = shape.classes;
  model.tied = false;
  if (!llama) return model;
  model.positions = config::Positions::kRotary;
  model.norm = config::NormKind::kRms;
  model.activation = config::Activation::kSwiglu;
  model.bias = config::BiasOn::kNone;
  return model;
}

// Blocks of GPTs, blocks of Llamas, heads.
using UnitsByKind = std::array<std::vector<MeasuredUnit>, 3>;

UnitsByKind units_to_measure() {
  UnitsByKind units;
  const auto add = [&](size_t kind, const char* name, config::UnitKind unit,
                       const UnitShape& shape) {
    units[kind].push_back(
        {.name = format("{} {}x{}x{}", name, shape.sequences, shape.context, shape.width),
         .kind = unit,
         .model = model_of(shape, kind == 1),
         .sequences = shape.sequences});
  };
  for (const UnitShape& shape : kBlocks) {
    add(0, "block", config::UnitKind::kBlock, shape);
    add(1, "llama block", config::UnitKind::kBlock, shape);
  }
  for (const UnitShape& shape : kHeads)
    add(2, format("head of {}", shape.classes).c_str(), config::UnitKind::kHead, shape);
  return units;
}

void measure_rests(DeviceBench& bench, Precision precision, double seconds, UnitsByKind& units) {
  std::vector<std::function<void()>> bodies;
  for (const auto& kind : units) {
    for (const MeasuredUnit& unit : kind) {
      UnitCase made = unit_case(unit.kind, unit.model, unit.sequences, bench.materials(precision));
      bodies.push_back(std::move(made.whole));
      bodies.push_back(std::move(made.parts));
    }
  }
  const auto times = bench.measure(std::move(bodies), seconds,
                                   format("functions of units in {}", name_of(precision)));
  size_t i = 0;
  for (auto& kind : units) {
    for (MeasuredUnit& unit : kind) {
      unit.rest = undisturbed(times[i]) - undisturbed(times[i + 1]);
      i += 2;
    }
  }
}

// Returns the rates of units of one kind, without the time of their launches.
config::Curve rates_of(const std::vector<MeasuredUnit>& units, Precision precision, double launch) {
  std::vector<RatePoint> points;
  for (const MeasuredUnit& unit : units) {
    const double left = unit.left(precision);
    points.push_back({left / 1e6, 5 * left / (unit.rest - launch * unit.launches()) / 1e9});
  }
  return curve_of(points);
}

void measure_functions(DeviceBench& bench, Precision precision, double seconds) {
  UnitsByKind units = units_to_measure();
  measure_rests(bench, precision, seconds, units);
  if (!bench.speaks()) return;
  for (const auto& kind : units) {
    for (const MeasuredUnit& unit : kind)
      tell(format("{} rest of {}", name_of(precision), unit.name), 5 * unit.left(precision), "GB/s",
           {unit.rest});
  }
  auto& [blocks, llama_blocks, heads] = units;
  config::DeviceSpec& device = bench.cluster().device;
  // A GPU computes while its host launches, unless functions are shorter than launches.
  device.queued = !bench.is_cpu();
  if (precision == Precision::kFp32) {
    const auto launch_of = [](const MeasuredUnit& smallest) {
      return std::max(0.0, smallest.rest) / smallest.launches();
    };
    const double launch = (launch_of(blocks.front()) + launch_of(llama_blocks.front())) / 2;
    if (!device.queued) device.launch_us = rounded(launch * 1e6);
    blocks.erase(blocks.begin());
    llama_blocks.erase(llama_blocks.begin());
    std::cout << format("functions: {:.2f} us of the host each\n", launch * 1e6);
  }
  config::MeasuredSpec& measured = measured_of(device, precision);
  measured.functions = rates_of(blocks, precision, device.launch_us * 1e-6);
  measured.gated_functions = rates_of(llama_blocks, precision, device.launch_us * 1e-6);
  measured.head_functions = rates_of(heads, precision, device.launch_us * 1e-6);
  std::cout << "\n";
}

void measure_copies(DeviceBench& bench, double seconds) {
  const model::Materials materials = bench.materials(Precision::kFp32);
  constexpr std::array<int64_t, 4> kSizes = {int64_t{1} << 20, int64_t{4} << 20, int64_t{32} << 20,
                                             int64_t{128} << 20};
  constexpr int64_t kElements = 8'000'000;
  std::vector<std::function<void()>> bodies;
  for (const int64_t size : kSizes) bodies.push_back(copy_case(size, materials));
  bodies.push_back(update_case(kElements, materials));
  const auto times = bench.measure(std::move(bodies), seconds, "copies and the optimizer");
  if (!bench.speaks()) return;
  for (size_t i = 0; i < kSizes.size(); ++i)
    tell(format("copy {}", format_bytes(kSizes[i])), 2.0 * static_cast<double>(kSizes[i]), "GB/s",
         times[i]);
  // The norm reads a gradient; AdamW reads it again, and reads and writes a weight and two moments.
  constexpr double kUpdateBytes = 4 + 4 + 2 * 12;
  tell("AdamW and norm", kUpdateBytes * kElements, "GB/s", times.back());
  const double copies =
      2.0 * static_cast<double>(kSizes.back()) / undisturbed(times[kSizes.size() - 1]) / 1e9;
  config::DeviceSpec& device = bench.cluster().device;
  bench.set_peak(device.memory_gb_per_s, copies);
  device.memory_share = rounded(std::clamp(
      kUpdateBytes * kElements / undisturbed(times.back()) / 1e9 / device.memory_gb_per_s, 1e-3,
      1.0));
  std::cout << "\n";
}

}  // namespace

void run_gemm_bench(const DeviceBenchOptions& options) {
  DeviceBench bench(options);
  measure_products(bench, Precision::kFp32, bench.seconds() / 2);
  measure_products(bench, Precision::kBf16, bench.seconds() / 2);
  measure_fp64(bench, bench.seconds() / 20);
  if (bench.speaks()) {
    config::DeviceSpec& device = bench.cluster().device;
    for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
      const config::MeasuredSpec& measured = measured_of(device, precision);
      std::cout << format("gemm.{0}.tflops {1:.4g}\ngemm.{0}.half_gflop {2:.4g}\n",
                          name_of(precision), peak_of(device, precision) * *measured.products_share,
                          *measured.products_half_gflop);
    }
  }
  bench.leave("shoal bench gemm");
}

void run_memory_bench(const DeviceBenchOptions& options) {
  DeviceBench bench(options);
  measure_copies(bench, bench.seconds() / 5);
  measure_functions(bench, Precision::kFp32, bench.seconds() * 2 / 5);
  measure_functions(bench, Precision::kBf16, bench.seconds() * 2 / 5);
  if (bench.speaks()) {
    const config::DeviceSpec& device = bench.cluster().device;
    std::cout << format("memory.gb_per_s {:.4g}\nmemory.share {:.4g}\nmemory.launch_us {:.4g}\n",
                        device.memory_gb_per_s, device.memory_share, device.launch_us);
  }
  bench.leave("shoal bench memory");
}

}  // namespace shoal::app
