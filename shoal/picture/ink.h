// ink.h -- one colour for each thing that pictures of a plan show, the same in all of them.
//
//   markup.leaf("rect", {{"class", class_of(Ink::kWeights)}});      // coloured by ink_style()
//
// Hues say what something is about: blue weights, orange gradients, violet the optimizer, pink
// activations and their way between stages, yellow the tensor group, green computation by what
// limits it, slate computation by pass. Shades of a hue differ in lightness, so that they also
// differ for those who see no hues.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shoal/plan/step_time.h"

namespace shoal::picture {

enum class Ink : uint8_t {
  // Memory; waiting for gathers and reductions has the colour of what is gathered and reduced.
  kWeights,
  kGradients,
  kMasters,
  kMoments,
  kGatheredWeights,
  kWholeGradients,
  kActivations,
  kBesideTensors,
  // Time, by what limits it.
  kProducts,
  kAttention,
  kBytes,
  kLaunches,
  kSlowed,
  kTensor,
  kOther,
  kIdle,
  // Time, by pass.
  kForward,
  kRecompute,
  kBackward,
  kUpdate,
  // A sum whose parts are not told apart.
  kWhole,
};

constexpr int kNumInks = 21;

Ink ink_of(plan::Spent spent);

std::string_view class_of(Ink ink);     // "weights": a class of CSS
std::string_view memory_name(Ink ink);  // "gathered weights"
std::string_view pass_name(
    Ink ink);  // "forward", and what interrupts a pass: "waiting for weights"

// Returns rules that give elements of these classes their `color`, for light and dark pages.
std::string ink_style();

}  // namespace shoal::picture
