// listener_pair.h -- two listeners to the operations of a step as one.
#pragma once

#include "shoal/parallel/executor.h"

namespace shoal::parallel {

class ListenerPair final : public OperationListener {
 public:
  // Both outlive the pair; each may be nullptr.
  ListenerPair(OperationListener* first, OperationListener* second)
      : first_(first), second_(second) {}

  void before(const plan::Operation& operation) override {
    if (first_ != nullptr) first_->before(operation);
    if (second_ != nullptr) second_->before(operation);
  }
  void after(const plan::Operation& operation) override {
    if (first_ != nullptr) first_->after(operation);
    if (second_ != nullptr) second_->after(operation);
  }

 private:
  OperationListener* const first_;
  OperationListener* const second_;
};

}  // namespace shoal::parallel
