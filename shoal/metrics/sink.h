// sink.h -- where metrics are written.
//
//   Sinks sinks = open_files("runs/small", /*continue_from_step=*/0);
//   sinks.add(std::make_unique<Terminal>(STDOUT_FILENO, TerminalOptions{.total_steps = 1000}));
//   sinks.write(record);
//   sinks.text(100, "sample", "Once upon a time");
//   sinks.flush();                                  // before a checkpoint is declared done
//
// One process of a job writes, from one thread. When write() and text() return, others can read
// what they were given, and it survives the death of the process; after flush() it survives the
// death of the host too. A sink that cannot write throws DataError.
//
// A run that resumes passes the first step it will write again as continue_from_step: sinks that
// are files then hold every step once. A new run is one that continues from step 0.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "shoal/metrics/step_record.h"

namespace shoal::metrics {

class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;

  virtual void write(const StepRecord& record) = 0;

  // Writes a text, such as what the model generates; any bytes. Sinks without a place for it ignore
  // it.
  virtual void text(int64_t step, std::string_view tag, std::string_view text) = 0;

  virtual void flush() = 0;
};

class Sinks {
 public:
  void add(std::unique_ptr<Sink> sink);

  void write(const StepRecord& record);
  void text(int64_t step, std::string_view tag, std::string_view text);
  void flush();

 private:
  std::vector<std::unique_ptr<Sink>> sinks_;
};

// Opens the CSV, JSONL and TensorBoard sinks in a directory, which is created if it does not exist.
// They are patient (patient_sink.h): a full disk does not end a run.
// Texts from `texts_from` on are removed; without it, those from the same step on as the rest.
Sinks open_files(const std::filesystem::path& directory,
                 int64_t continue_from_step,
                 std::optional<int64_t> texts_from = std::nullopt);

}  // namespace shoal::metrics
