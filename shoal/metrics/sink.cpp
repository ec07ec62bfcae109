#include "shoal/metrics/sink.h"

#include "shoal/core/error.h"
#include "shoal/core/file_error.h"
#include "shoal/metrics/csv.h"
#include "shoal/metrics/jsonl.h"
#include "shoal/metrics/patient_sink.h"
#include "shoal/metrics/tensorboard.h"

namespace shoal::metrics {

void Sinks::add(std::unique_ptr<Sink> sink) { sinks_.push_back(std::move(sink)); }

void Sinks::write(const StepRecord& record) {
  for (const auto& sink : sinks_) sink->write(record);
}

void Sinks::text(int64_t step, std::string_view tag, std::string_view text) {
  for (const auto& sink : sinks_) sink->text(step, tag, text);
}

void Sinks::flush() {
  for (const auto& sink : sinks_) sink->flush();
}

Sinks open_files(const std::filesystem::path& directory,
                 int64_t continue_from_step,
                 std::optional<int64_t> texts_from) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw_file_error("create", directory, error);
  Sinks sinks;
  sinks.add(
      patient("metrics.csv", std::make_unique<Csv>(directory / "metrics.csv", continue_from_step)));
  sinks.add(
      patient("metrics.jsonl", std::make_unique<Jsonl>(directory, continue_from_step, texts_from)));
  sinks.add(patient("the events of TensorBoard",
                    std::make_unique<TensorBoard>(directory, continue_from_step)));
  return sinks;
}

}  // namespace shoal::metrics
