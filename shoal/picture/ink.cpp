#include "shoal/picture/ink.h"

#include <array>

#include "shoal/core/format.h"

namespace shoal::picture {
namespace {

struct InkSpec {
  std::string_view name;  // of the class
  std::string_view light;
  std::string_view dark;
  std::string_view memory;  // in charts of memory
  std::string_view pass;    // in charts of a step
};

constexpr std::array<InkSpec, kNumInks> kInks = {{
    {"weights", "#2a78d6", "#3987e5", "weights", "waiting for gathered weights"},
    {"gradients", "#eb6834", "#d95926", "gradients", "waiting for reduced gradients"},
    {"masters", "#4a3aa7", "#7467d4", "masters (fp32)", ""},
    {"moments", "#a297e8", "#b9b1f2", "moments", ""},
    {"gathered", "#9cc4f3", "#a3c9f5", "gathered weights", ""},
    {"whole", "#f7b79c", "#f2b199", "whole gradients", ""},
    {"activations", "#e87ba4", "#d55181", "activations", "sends to other stages"},
    {"beside", "#b9b8b1", "#6f6e69", "beside tensors", ""},
    {"products", "#12805a", "#199e70", "", ""},
    {"attention", "#35b989", "#5cc59b", "", ""},
    {"bytes", "#a5dfc8", "#b2e6d1", "", ""},
    {"launches", "#c3a27a", "#8f7350", "", "waiting for the host"},
    {"slowed", "#7c9c8f", "#56766a", "", "slowed by communication beside"},
    {"tensor", "#eda100", "#c98500", "", "calls of the tensor group"},
    {"other", "#898781", "#a3a19a", "", "loss and norm"},
    {"idle", "#e4e3dd", "#3a3a37", "", "waiting for other stages"},
    {"forward", "#a9b8c8", "#b6c4d3", "", "forward"},
    {"recompute", "#d3dbe3", "#4d5c6c", "", "recomputation"},
    {"backward", "#566b82", "#7d93ab", "", "backward"},
    {"update", "#4a3aa7", "#7467d4", "", "optimizer"},
    {"sum", "#45443f", "#d0cec7", "", ""},
}};

const InkSpec& spec_of(Ink ink) { return kInks[static_cast<size_t>(ink)]; }

}  // namespace

Ink ink_of(plan::Spent spent) {
  constexpr std::array<Ink, plan::kNumSpent> kBySpent = {
      Ink::kProducts, Ink::kAttention, Ink::kBytes,     Ink::kLaunches, Ink::kSlowed,
      Ink::kTensor,   Ink::kWeights,   Ink::kGradients, Ink::kIdle,     Ink::kOther};
  return kBySpent[static_cast<size_t>(spent)];
}

std::string_view class_of(Ink ink) { return spec_of(ink).name; }
std::string_view memory_name(Ink ink) { return spec_of(ink).memory; }
std::string_view pass_name(Ink ink) { return spec_of(ink).pass; }

std::string ink_style() {
  std::string light;
  std::string dark;
  std::string rules;
  for (const InkSpec& ink : kInks) {
    light += format("--{}:{};", ink.name, ink.light);
    dark += format("--{}:{};", ink.name, ink.dark);
    rules += format(".{}{{color:var(--{})}}\n", ink.name, ink.name);
  }
  return format(":root{{{}}}\n@media (prefers-color-scheme:dark){{:root{{{}}}}}\n{}", light, dark,
                rules);
}

}  // namespace shoal::picture
