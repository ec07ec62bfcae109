#include "app/engine/metrics_page.h"

#include "shoal/core/error.h"
#include "shoal/core/log.h"

namespace shoal::app {
namespace {

constexpr const char* kPath = "/metrics";

}  // namespace

MetricsPage::MetricsPage(int port, const std::string& run, int restarts)
    : text_(run),
      server_({.path = kPath,
               .content_type = "text/plain; version=0.0.4; charset=utf-8",
               .port = port}) {
  text_.set("restarts", "times that the job was started again", int64_t{restarts});
  server_.show(text_.page());
}

void MetricsPage::show(const metrics::StepRecord& record) {
  const std::lock_guard lock(mutex_);
  text_.set(record);
  server_.show(text_.page());
}

void MetricsPage::show(const checkpoint::SavedCheckpoint& saved) {
  const std::lock_guard lock(mutex_);
  text_.set("saved_step", "step of the newest checkpoint", static_cast<int64_t>(saved.step));
  text_.set("save_wait_seconds", "time that training stood still for it", saved.copy_seconds);
  text_.set("save_write_seconds", "time in which rank 0 wrote its part", saved.write_seconds);
  server_.show(text_.page());
}

std::string MetricsPage::address() const {
  return format("http://{}{}", server_.endpoint().text(), kPath);
}

std::shared_ptr<MetricsPage> open_metrics_page(int port, const std::string& run, int restarts) {
  if (port == 0) return nullptr;
  try {
    auto page = std::make_shared<MetricsPage>(port, run, restarts);
    log::info("Prometheus finds the metrics at {}", page->address());
    return page;
  } catch (const UsageError& taken) {
    log::warn("there are no metrics for Prometheus: {}; choose another train.prometheus_port",
              taken.what());
    return nullptr;
  }
}

}  // namespace shoal::app
