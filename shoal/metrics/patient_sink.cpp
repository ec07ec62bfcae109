#include "shoal/metrics/patient_sink.h"

#include <deque>
#include <utility>
#include <variant>

#include "shoal/core/error.h"
#include "shoal/core/log.h"
#include "shoal/metrics/jsonl.h"

namespace shoal::metrics {
namespace {

// A day of ten steps a second; more than that are some hundred megabytes.
constexpr size_t kMostKept = 1 << 20;

class PatientSink : public Sink {
 public:
  PatientSink(std::string name, std::unique_ptr<Sink> sink)
      : name_(std::move(name)), sink_(std::move(sink)) {}

  PatientSink(const PatientSink&) = delete;
  PatientSink& operator=(const PatientSink&) = delete;
  ~PatientSink() override {
    if (!write_kept())
      log::error("{} rows of {} could not be written", kept_.size() + lost_, name_);
  }

  void write(const StepRecord& record) override { add(record); }

  void text(int64_t step, std::string_view tag, std::string_view text) override {
    add(TextRecord{.step = step, .tag = std::string(tag), .text = std::string(text)});
  }

  void flush() override {
    if (!write_kept())
      return log::warn("{} rows of {} are not written yet", kept_.size() + lost_, name_);
    try {
      sink_->flush();
    } catch (const DataError& error) {
      log::warn("{}", error.what());
    }
  }

 private:
  using Row = std::variant<StepRecord, TextRecord>;

  void add(Row row) {
    kept_.push_back(std::move(row));
    if (kept_.size() > kMostKept) {
      kept_.pop_front();
      ++lost_;
    }
    write_kept();
  }

  // Returns whether nothing is kept any more.
  bool write_kept() {
    try {
      for (; !kept_.empty(); kept_.pop_front())
        std::visit([this](auto& row) { pass_on(row); }, kept_.front());
    } catch (const DataError& error) {
      if (!std::exchange(told_, true))
        log::warn("{}; rows of {} are kept until they can be written", error.what(), name_);
      return false;
    }
    if (std::exchange(told_, false))
      log::info("{} is written again, without {} rows", name_, std::exchange(lost_, 0));
    return true;
  }

  void pass_on(const StepRecord& record) { sink_->write(record); }
  void pass_on(const TextRecord& text) { sink_->text(text.step, text.tag, text.text); }

  std::string name_;
  std::unique_ptr<Sink> sink_;
  std::deque<Row> kept_;
  size_t lost_ = 0;
  bool told_ = false;  // that it cannot be written
};

}  // namespace

std::unique_ptr<Sink> patient(std::string name, std::unique_ptr<Sink> sink) {
  return std::make_unique<PatientSink>(std::move(name), std::move(sink));
}

}  // namespace shoal::metrics
