// gpu.h -- the device of tests that need one.
#pragma once

#include <torch/types.h>

inline const torch::Device kGpu("cuda:0");
