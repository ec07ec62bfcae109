// lent_tensors.h -- the tensors that a call borrows until its wait. Private to comm/strict/.
//
//   LentTensors lent(inputs, outputs);
//   run(lent.inputs(), lent.outputs());      // on copies, on any thread
//   lent.give_back();                        // on the thread that waits
//
// The call works on copies. Until the wait, outputs hold a pattern that reads as NaN, and nobody
// may write to any of the tensors: give_back() checks that. An input that lies inside an output, as
// a shard inside its gathered tensor, may be read.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace shoal::comm {

class LentTensors {
 public:
  // All tensors are contiguous and on the CPU. A tensor that is read and written is an output.
  LentTensors(std::vector<at::Tensor> inputs, std::vector<at::Tensor> outputs);

  [[nodiscard]] std::vector<at::Tensor>& inputs() { return copied_inputs_; }
  [[nodiscard]] std::vector<at::Tensor>& outputs() { return copied_outputs_; }

  // Copies the results into the outputs. Throws BugError when somebody wrote to a borrowed tensor.
  void give_back();

 private:
  std::vector<at::Tensor> inputs_;
  std::vector<at::Tensor> outputs_;
  std::vector<at::Tensor> copied_inputs_;
  std::vector<at::Tensor> copied_outputs_;
  std::vector<at::Tensor> meanwhile_;  // contents of the outputs until give_back()
};

}  // namespace shoal::comm
