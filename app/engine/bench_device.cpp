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
using config::Precision;

// Products of small and middle-sized models: the projections of their blocks, a head, odd shapes,
// few rows, narrow matrices.
constexpr std::array<ProductShape, 25> kProducts = {
    {{33, 67, 129},     {64, 64, 192},     {512, 64, 192},    {512, 64, 64},    {512, 64, 256},
     {512, 256, 64},    {2048, 64, 64},    {8192, 64, 256},   {8192, 256, 64},  {1024, 128, 512},
     {4096, 128, 384},  {4096, 512, 128},  {1024, 256, 768},  {1024, 256, 256}, {1024, 1024, 256},
     {128, 256, 1024},  {2048, 256, 257},  {1024, 512, 1536}, {1024, 512, 512}, {1024, 512, 2048},
     {1024, 2048, 512}, {1000, 300, 1100}, {128, 512, 2048},  {16, 768, 768},   {512, 768, 3072}}};

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

void tell(const std::string& name, double work, const char* unit, const bench::Quartiles& seconds) {
  std::cout << format("{:<24} {:>10.1f} us  ({:.2f} .. {:.2f})  {:>9.2f} {}\n", name,
                      seconds.median * 1e6, seconds.low / seconds.median,
                      seconds.high / seconds.median, work / seconds.median / 1e9, unit)
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
    const bench::Quartiles all = quartiles_of(times[i]);
    // A training step has three of each: forward, and one for each gradient.
    products.push_back({shape.operations(), shape.elements() * element, all.median / 3});
    if (bench.speaks())
      tell(format("{} {} x {} x {}", name_of(precision), shape.rows, shape.in, shape.out),
           3 * shape.operations(), "GFLOP/s", all);
  }
  std::vector<RatePoint> attention;
  for (size_t i = 0; i < kAttentions.size(); ++i) {
    const AttentionShape& shape = kAttentions[i];
    const bench::Quartiles all = quartiles_of(times[kProducts.size() + i]);
    const double heads = static_cast<double>(shape.sequences * shape.heads);
    const double operations = shape.operations_of_head();
    attention.push_back({operations / 1e9, heads * operations / all.median / 1e12});
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
  const bench::Quartiles all = quartiles_of(times.front());
  if (!bench.speaks()) return;
  tell("fp64 512 x 512 x 512", 3 * kLarge.operations(), "GFLOP/s", all);
  bench.set_peak(bench.cluster().device.fp64_tflops, 3 * kLarge.operations() / all.median / 1e12);
}

// ---- bytes ----

struct BlockShape {
  int64_t width;
  int heads;
  int64_t context;
  int64_t sequences;
};

// Narrow ones, in which products do not hide the rest; the first is nothing but launches.
constexpr std::array<BlockShape, 7> kBlocks = {{{16, 1, 8, 1},
                                                {64, 2, 64, 4},
                                                {64, 2, 64, 32},
                                                {96, 3, 96, 64},
                                                {128, 2, 128, 2},
                                                {128, 2, 128, 8},
                                                {256, 4, 128, 4}}};

config::ModelConfig model_of(const BlockShape& shape, bool llama) {
  config::ModelConfig model;
  model.layers = 1;
  model.width = shape.width;
  model.heads = shape.heads;
  model.context = shape.context;
  model.vocab_size = 2;
  if (!llama) return model;
  model.positions = config::Positions::kRotary;
  model.norm = config::NormKind::kRms;
  model.activation = config::Activation::kSwiglu;
  model.bias = config::BiasOn::kNone;
  model.tied = false;
  return model;
}

// Returns what is left of a block without its parts, round by round.
bench::Quartiles rest_of(const std::vector<double>& whole, const std::vector<double>& parts) {
  std::vector<double> rests;
  for (size_t i = 0; i < std::min(whole.size(), parts.size()); ++i)
    rests.push_back(whole[i] - parts[i]);
  return quartiles_of(rests);
}

void measure_functions(DeviceBench& bench, Precision precision, double seconds) {
  const model::Materials materials = bench.materials(precision);
  const blueprint::ElementBytes bytes = blueprint::element_bytes(precision);
  std::vector<config::ModelConfig> models;
  std::vector<int64_t> sequences;
  std::vector<std::function<void()>> bodies;
  for (const BlockShape& shape : kBlocks) {
    for (const bool llama : {false, true}) {
      models.push_back(model_of(shape, llama));
      sequences.push_back(shape.sequences);
      BlockCase block = block_case(models.back(), shape.sequences, materials);
      bodies.push_back(std::move(block.whole));
      bodies.push_back(std::move(block.parts));
    }
  }
  const auto times = bench.measure(std::move(bodies), seconds,
                                   format("functions of blocks in {}", name_of(precision)));
  config::DeviceSpec& device = bench.cluster().device;
  std::vector<RatePoint> points;
  double launch = 0;  // seconds
  for (size_t i = 0; i < models.size(); ++i) {
    const bench::Quartiles rest = rest_of(times[2 * i], times[2 * i + 1]);
    const config::UnitKind block = config::UnitKind::kBlock;
    const auto all = blueprint::activations_of(block, models[i], {.sequences = sequences[i]}, bytes,
                                               config::Recompute::kNone);
    const auto left = static_cast<double>(all.inside + all.output + all.forward);
    const double launches = blueprint::launches_of(block, models[i], blueprint::Pass::kForward,
                                                   config::Recompute::kNone) +
                            blueprint::launches_of(block, models[i], blueprint::Pass::kBackward,
                                                   config::Recompute::kNone);
    if (i < 2) {  // the smallest, of both kinds
      launch += std::max(0.0, rest.median) / launches / 2;
    } else {
      points.push_back({left / 1e6, 5 * left / (rest.median - launch * launches) / 1e9});
    }
    if (bench.speaks())
      tell(format("{} rest of {}x{}x{}{}", name_of(precision), sequences[i], models[i].context,
                  models[i].width, i % 2 == 1 ? " llama" : ""),
           5 * left, "GB/s", rest);
  }
  if (!bench.speaks()) return;
  measured_of(device, precision).functions = curve_of(points);
  // A GPU computes while its host launches, unless functions are shorter than launches.
  device.queued = !materials.device.is_cpu();
  if (precision == Precision::kFp32 && !device.queued) device.launch_us = rounded(launch * 1e6);
  std::cout << format("{} functions: {:.2f} us of the host each\n\n", name_of(precision),
                      launch * 1e6);
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
         quartiles_of(times[i]));
  // The norm reads a gradient; AdamW reads it again, and reads and writes a weight and two moments.
  constexpr double kUpdateBytes = 4 + 4 + 2 * 12;
  const bench::Quartiles update = quartiles_of(times.back());
  tell("AdamW and norm", kUpdateBytes * kElements, "GB/s", update);
  const double copies = 2.0 * static_cast<double>(kSizes.back()) /
                        quartiles_of(times[kSizes.size() - 1]).median / 1e9;
  config::DeviceSpec& device = bench.cluster().device;
  bench.set_peak(device.memory_gb_per_s, copies);
  device.memory_share = rounded(std::clamp(
      kUpdateBytes * kElements / update.median / 1e9 / device.memory_gb_per_s, 1e-3, 1.0));
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
