// timeline.h -- messages between ranks that carry a clock, so that a rank knows when it waited, and for how long.
//
//   Timeline timeline(ranks);
//   timeline.work("F", 0, 1);                                  // the forward pass of token 0: one unit of time
//   timeline.send(activations, 1);
//   const at::Tensor gradient = timeline.receive({3, 4}, 1);   // waits, if rank 1 needs longer
//   timeline.draw(world);                                      // rank 0: F0......
//
// The clock counts work, not seconds, so the picture is the same on any machine. A message brings the time at which it was
// sent, and a receiver whose clock is behind has waited until then (Lamport's clocks).
#pragma once

#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "shoal/comm/texts.h"
#include "shoal/comm/world.h"
#include "shoal/core/format.h"

namespace mlp {

class Timeline {
 public:
  explicit Timeline(shoal::comm::Group ranks) : ranks_(std::move(ranks)) {}

  // A pass over a token is drawn as its letter and number with dashes, two characters for each unit.
  void work(std::string_view pass, int64_t token, size_t units) {
    const std::string name = shoal::format("{}{}", pass, token);
    line_ += name;
    line_.append(2 * units - name.size(), '-');
  }

  // Does not wait: a send may be complete only when it is received, and the receiver may be sending at the moment.
  void send(const at::Tensor& tensor, int to) {
    using Way = shoal::comm::Group::Transfer::Way;
    const at::Tensor now = at::full({1}, static_cast<int64_t>(line_.size()), at::kLong);
    sends_.push_back(ranks_.exchange(
        {{Way::kSend, tensor.contiguous(), to, 0}, {Way::kSend, now, to, 1}}, "send"));
  }

  at::Tensor receive(at::IntArrayRef shape, int from) {
    using Way = shoal::comm::Group::Transfer::Way;
    const at::Tensor tensor = at::empty(shape, at::kDouble);
    const at::Tensor sent = at::empty({1}, at::kLong);
    ranks_.exchange({{Way::kRecv, tensor, from, 0}, {Way::kRecv, sent, from, 1}}, "receive").wait();
    line_.resize(std::max(line_.size(), static_cast<size_t>(sent.item<int64_t>())), '.');
    return tensor;
  }

  // Waits for all sends; rank 0 prints the times of all ranks below one another. Collective.
  void draw(shoal::comm::World& world) {
    for (shoal::comm::Pending& send : sends_) send.wait();
    std::vector<std::string> lines = shoal::comm::all_texts(world, line_, "timelines");
    size_t longest = 0;
    for (const std::string& line : lines) longest = std::max(longest, line.size());
    for (size_t rank = 0; rank < lines.size() && ranks_.rank() == 0; ++rank) {
      lines[rank].resize(longest, '.');
      std::cout << "rank " << rank << "  " << lines[rank] << "\n";
    }
  }

 private:
  shoal::comm::Group ranks_;
  std::vector<shoal::comm::Pending> sends_;
  std::string line_;
};

}  // namespace mlp
