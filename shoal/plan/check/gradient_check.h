// gradient_check.h -- follows the gradient of one group of units through a step: which terms it
// contains, and over which ranks it is summed. Private to plan/.
//
// All functions throw Wrong when the operation of that name does not fit the state.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "shoal/plan/rank_plan.h"

namespace shoal::plan {

class GradientCheck {
 public:
  GradientCheck(const RankPlan& plan, const StagePlan& stage, const GroupPlan& group)
      : plan_(plan), stage_(stage), group_(group) {}

  void open();
  // Adds the term of a micro-batch to a unit's gradient.
  void write(int32_t unit, int32_t micro_batch);
  void sum_partial(int32_t unit);
  void add_tied(int32_t unit);
  void start_reduce(bool adds);
  void await_reduce();
  void start_replicas();
  void await_replicas();
  // Requires that the gradient is complete; called when the norm is taken. Problems have `name`.
  void complete(const std::string& name);
  void update();

  [[nodiscard]] int updates() const { return updates_; }

 private:
  using Terms = std::vector<int>;  // by micro-batch: how often it is in a gradient

  [[nodiscard]] bool has_replicas() const;
  // Requires the terms of tensor-parallel ranks and of the other end in the whole gradient, which
  // is about to be reduced.
  void require_summed() const;
  // Requires every micro-batch in the gradient of every unit: the head's twice, from its loss and
  // from its norm.
  void require_terms() const;
  void add_terms();

  const RankPlan& plan_;
  const StagePlan& stage_;
  const GroupPlan& group_;
  bool open_ = false;
  bool reducing_ = false;
  bool reducing_replicas_ = false;
  bool over_replicas_ = false;
  bool tied_ = false;              // the other end's gradient is added
  std::set<int32_t> over_tensor_;  // units whose partial gradients are summed since it was opened
  std::map<int32_t, Terms> written_;  // by unit, since it was opened
  std::map<int32_t, Terms> reduced_;  // by unit, in this rank's shard
  int updates_ = 0;
};

}  // namespace shoal::plan
