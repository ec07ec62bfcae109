// sink.h -- where figures go.
//
//   Sinks sinks = open_files("runs/small", /*continue_from_step=*/0);
//   sinks.add(std::make_unique<Terminal>(STDOUT_FILENO, TerminalOptions{.total_steps = 1000}));
//   sinks.write(record);
//   sinks.text(100, "sample", "Once upon a time");
//   sinks.flush();                                  // before a checkpoint is declared done
//
// One process of a job writes, from one thread. What write() and text() were given can be read by
// others when they return and survives the death of the process; after flush() it survives the
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

#include "shoal/metrics/record.h"

namespace shoal::metrics {

class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;

  virtual void write(const Record& record) = 0;

  // Something to read, such as what the model says; any bytes. Sinks without a place for it leave
  // it out.
  virtual void text(int64_t step, std::string_view tag, std::string_view text) = 0;

  virtual void flush() = 0;
};

class Sinks {
 public:
  void add(std::unique_ptr<Sink> sink);

  void write(const Record& record);
  void text(int64_t step, std::string_view tag, std::string_view text);
  void flush();

 private:
  std::vector<std::unique_ptr<Sink>> sinks_;
};

// CSV, JSONL and TensorBoard in a directory, which is made if it is not there.
Sinks open_files(const std::filesystem::path& directory, int64_t continue_from_step);

}  // namespace shoal::metrics
