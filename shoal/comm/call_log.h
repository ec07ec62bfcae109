// call_log.h -- records every call: what the record backend is for.
#pragma once

#include <vector>

#include "shoal/comm/call.h"

namespace shoal::comm {

class CallLog final : public CallListener {
 public:
  void on_call(const Call& call) override { calls_.push_back(call); }

  [[nodiscard]] const std::vector<Call>& calls() const { return calls_; }
  void clear() { calls_.clear(); }

 private:
  std::vector<Call> calls_;
};

}  // namespace shoal::comm
