#include "shoal/cluster/step_page.h"

#include <atomic>
#include <cerrno>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shoal/cluster/descriptors.h"
#include "shoal/core/error.h"

namespace shoal::cluster {

// Steps are stored plus one: new pages are zeros, and nothing was told then.
struct StepPageLayout {
  std::atomic<int64_t> first_plus_one;
  std::atomic<int64_t> last_plus_one;
  std::atomic<int64_t> replaceable;
};
static_assert(std::atomic<int64_t>::is_always_lock_free);

namespace {

StepPageLayout* mapped(int fd) {
  void* memory = ::mmap(nullptr, sizeof(StepPageLayout), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<StepPageLayout*>(memory);
}

void unmap(StepPageLayout* page) {
  if (page != nullptr) ::munmap(page, sizeof(StepPageLayout));
}

std::optional<int64_t> told(const std::atomic<int64_t>& plus_one) {
  const int64_t value = plus_one.load();
  return value > 0 ? std::optional(value - 1) : std::nullopt;
}

// A variable that somebody set by hand must not make this write into a file of theirs.
bool is_a_page(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && status.st_nlink == 0 &&
         status.st_size == sizeof(StepPageLayout);
}

}  // namespace

StepPage::StepPage() : fd_(::memfd_create("shoal-steps", MFD_CLOEXEC)) {
  if (fd_.valid() && ::ftruncate(fd_.get(), sizeof(StepPageLayout)) == 0) page_ = mapped(fd_.get());
  if (page_ == nullptr)
    throw PeerLost(format("cannot share memory with a rank: {}", describe_errno(errno)));
}

StepPage::StepPage(StepPage&& other) noexcept
    : fd_(std::move(other.fd_)), page_(std::exchange(other.page_, nullptr)) {}

StepPage& StepPage::operator=(StepPage&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(page_, other.page_);
  return *this;
}

StepPage::~StepPage() { unmap(page_); }

StepsTold StepPage::read() const {
  return {.first = told(page_->first_plus_one),
          .last = told(page_->last_plus_one),
          .replaceable = page_->replaceable.load() != 0};
}

StepReport::StepReport() {
  const std::optional<int> fd = inherited_descriptor(kStepPageVariable);
  if (fd && is_a_page(*fd)) page_ = mapped(*fd);
}

StepReport::~StepReport() { unmap(page_); }

void StepReport::tell(int64_t steps_done) {
  if (page_ == nullptr) return;
  int64_t nothing = 0;
  page_->first_plus_one.compare_exchange_strong(nothing, steps_done + 1);
  page_->last_plus_one.store(steps_done + 1);
}

void StepReport::tell_replaceable() {
  if (page_ != nullptr) page_->replaceable.store(1);
}

}  // namespace shoal::cluster
