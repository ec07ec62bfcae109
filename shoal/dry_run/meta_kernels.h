// meta_kernels.h -- the operators of a training step that libtorch has no meta kernel for in C++, and
// those whose CPU kernels allocate more than their results.
//
//   register_meta_kernels();             // and at::native_layer_norm() takes tensors of the meta device
//
// A kernel allocates what the CPU kernel of the same operator allocates, in the same order and for
// as many threads as this process has (at::get_num_threads()), so that MetaMemory counts the peak of a
// CPU to the byte. This is the one place that knows of such buffers.
#pragma once

namespace shoal::dry_run {

// Registers them for this process. Later calls do nothing.
void register_meta_kernels();

}  // namespace shoal::dry_run
