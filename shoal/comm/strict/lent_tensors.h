// lent_tensors.h -- tensors that a call has been lent from the call to the wait. Private to comm/strict/.
//
//   LentTensors lent(inputs, outputs);
//   run(lent.inputs(), lent.outputs());      // on copies, on any thread
//   lent.give_back();                        // on the thread that waits
//
// The call works on copies. In the meantime outputs hold a pattern that reads as NaN, and nobody may write to
// anything: give_back() looks. An input that lies in an output, as a shard does in what it is gathered into, may be read.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace shoal::comm {

class LentTensors {
 public:
  // All are contiguous and on the CPU. A tensor that is read and written is an output.
  LentTensors(std::vector<at::Tensor> inputs, std::vector<at::Tensor> outputs);

  [[nodiscard]] std::vector<at::Tensor>& inputs() { return copied_inputs_; }
  [[nodiscard]] std::vector<at::Tensor>& outputs() { return copied_outputs_; }

  // Puts results where they belong. BugError when somebody wrote to a tensor that was lent.
  void give_back();

 private:
  std::vector<at::Tensor> inputs_;
  std::vector<at::Tensor> outputs_;
  std::vector<at::Tensor> copied_inputs_;
  std::vector<at::Tensor> copied_outputs_;
  std::vector<at::Tensor> meanwhile_;  // what outputs hold until they are given back
};

}  // namespace shoal::comm
