#include "shoal/comm/ordered_worker.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "shoal/core/log.h"

namespace shoal::comm {
namespace {

constexpr auto kPatienceAtTheEnd = std::chrono::seconds(5);

class OrderedWork final : public c10d::Work {
 public:
  OrderedWork(std::vector<at::Tensor> tensors, std::function<void()> call)
      : tensors_(std::move(tensors)), call_(std::move(call)) {}

  void execute() {
    std::exception_ptr failure;
    try {
      call_();
    } catch (...) {
      failure = std::current_exception();
    }
    call_ = nullptr;
    tensors_.clear();
    ended_ = Clock::now().time_since_epoch().count();
    finish(failure);
  }

  [[nodiscard]] const std::atomic<Clock::rep>& ended() const { return ended_; }

 private:
  std::vector<at::Tensor> tensors_;  // alive until the call is over, whoever stops waiting for it
  std::function<void()> call_;
  std::atomic<Clock::rep> ended_ = 0;
};

class FinishedWork final : public c10d::Work {
 public:
  bool isCompleted() override { return true; }
  bool isSuccess() const override { return true; }
  bool wait(std::chrono::milliseconds /*timeout*/) override { return true; }
};

}  // namespace

struct OrderedWorker::Queue {
  std::string name;
  ActivityBoard* board = nullptr;
  std::mutex mutex;
  std::condition_variable changed;  // several threads wait for different changes: always notify_all
  std::deque<c10::intrusive_ptr<OrderedWork>> works;
  bool closing = false;
  bool left = false;  // the thread has ended
  std::thread thread;
};

OrderedWorker::OrderedWorker(std::string name, ActivityBoard* board)
    : queue_(std::make_shared<Queue>()) {
  queue_->name = std::move(name);
  queue_->board = board;
  queue_->thread = std::thread([queue = queue_] { serve(queue); });
}

OrderedWorker::~OrderedWorker() {
  // On the way out of an error nobody waits: what is queued may hang for the reason of the error.
  const auto patience =
      std::uncaught_exceptions() > 0 ? std::chrono::seconds(0) : kPatienceAtTheEnd;
  std::unique_lock lock(queue_->mutex);
  queue_->closing = true;
  queue_->changed.notify_all();
  const bool left = queue_->changed.wait_for(lock, patience, [this] { return queue_->left; });
  lock.unlock();
  if (left) {
    queue_->thread.join();
    return;
  }
  {
    const std::lock_guard guard(queue_->mutex);
    queue_->works.clear();
  }
  if (std::uncaught_exceptions() == 0)
    log::warn("the thread '{}' still waits for a peer and is left behind", queue_->name);
  queue_->thread.detach();
}

c10::intrusive_ptr<c10d::Work> OrderedWorker::run(std::vector<at::Tensor> tensors,
                                                  std::function<void()> call) {
  auto work = c10::make_intrusive<OrderedWork>(std::move(tensors), std::move(call));
  {
    const std::lock_guard lock(queue_->mutex);
    queue_->works.push_back(work);
  }
  queue_->changed.notify_all();
  return work;
}

void OrderedWorker::serve(const std::shared_ptr<Queue>& queue) {
  std::optional<ActivityBoard::Seat> seat;
  if (queue->board != nullptr) seat.emplace(*queue->board, queue->name);
  std::unique_lock lock(queue->mutex);
  for (;;) {
    queue->changed.wait(lock, [&] { return queue->closing || !queue->works.empty(); });
    if (queue->works.empty()) break;
    const c10::intrusive_ptr<OrderedWork> work = queue->works.front();
    queue->works.pop_front();
    lock.unlock();
    work->execute();
    lock.lock();
  }
  queue->left = true;
  queue->changed.notify_all();
}

const std::atomic<Clock::rep>* ended_at(const c10d::Work& work) {
  const auto* const ordered = dynamic_cast<const OrderedWork*>(&work);
  return ordered == nullptr ? nullptr : &ordered->ended();
}

c10::intrusive_ptr<c10d::Work> finished_work() { return c10::make_intrusive<FinishedWork>(); }

}  // namespace shoal::comm
