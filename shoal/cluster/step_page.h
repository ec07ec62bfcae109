// step_page.h -- how far a rank has come, told to its supervisor through a page of memory that both
// share: telling costs a store, and what was told outlives the rank.
//
//   StepReport report;          // in the rank; without a supervisor it tells nobody
//   report.tell(40);            // 40 steps are finished
//
//   child.steps.read().last     // in the supervisor: 40, also after the rank was killed
#pragma once

#include <cstdint>
#include <optional>

#include "shoal/core/files.h"

namespace shoal::cluster {

struct StepsTold {
  std::optional<int64_t> first =
      std::nullopt;  // finished steps when the rank began: above 0 when it resumed
  std::optional<int64_t> last = std::nullopt;  // finished steps, as told last
  bool replaceable =
      false;  // the job goes on without this rank, and takes another process in its place
};

// What both map.
struct StepPageLayout;

// The supervisor's side.
class StepPage {
 public:
  // Throws PeerLost when there is no memory.
  StepPage();
  StepPage(StepPage&& other) noexcept;
  StepPage& operator=(StepPage&& other) noexcept;
  ~StepPage();

  // The descriptor that a rank inherits; its number goes into kStepPageVariable.
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] StepsTold read() const;

 private:
  UniqueFd fd_;
  StepPageLayout* page_ = nullptr;
};

inline constexpr const char* kStepPageVariable = "SHOAL_STEP_PAGE_FD";

// The rank's side.
class StepReport {
 public:
  StepReport();
  StepReport(const StepReport&) = delete;
  StepReport& operator=(const StepReport&) = delete;
  ~StepReport();

  void tell(int64_t steps_done);
  void tell_replaceable();

 private:
  StepPageLayout* page_ = nullptr;
};

}  // namespace shoal::cluster
