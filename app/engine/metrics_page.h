// metrics_page.h -- GET /metrics: the newest figures of a run for Prometheus, on 127.0.0.1.
//
//   const auto page = std::make_shared<MetricsPage>(9400, "small", restarts);
//   sinks.add(std::make_unique<MetricsPageSink>(page));
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "shoal/checkpoint/saver.h"
#include "shoal/cluster/page_server.h"
#include "shoal/metrics/prometheus_text.h"
#include "shoal/metrics/sink.h"

namespace shoal::app {

class MetricsPage {
 public:
  // Throws UsageError when the port is taken.
  MetricsPage(int port, const std::string& run, int restarts);

  // Any thread.
  void show(const metrics::StepRecord& record);
  void show(const checkpoint::SavedCheckpoint& saved);

  [[nodiscard]] std::string address() const;

 private:
  std::mutex mutex_;
  metrics::PrometheusText text_;
  cluster::PageServer server_;
};

class MetricsPageSink final : public metrics::Sink {
 public:
  explicit MetricsPageSink(std::shared_ptr<MetricsPage> page) : page_(std::move(page)) {}

  void write(const metrics::StepRecord& record) override { page_->show(record); }
  void text(int64_t, std::string_view, std::string_view) override {}
  void flush() override {}

 private:
  const std::shared_ptr<MetricsPage> page_;
};

// Returns the page of a run when a port was chosen; nullptr, with a warning, when it is taken: a run does not end because
// nobody can watch it.
std::shared_ptr<MetricsPage> open_metrics_page(int port, const std::string& run, int restarts);

}  // namespace shoal::app
