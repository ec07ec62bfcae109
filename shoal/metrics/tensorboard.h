// tensorboard.h -- metrics and texts for TensorBoard: tensorboard --logdir DIRECTORY
//
// Each start of a run begins a file of its own, events.out.tfevents.SECONDS.HOST.PID, whose name
// sorts after the existing ones: TensorBoard reads them in that order. Its first events void what
// earlier files hold from continue_from_step on, so that every step is shown once. An event is one
// write of a whole record: a reader sees all of it or nothing.
//
// Metrics have single precision here, because that is what the format has. The bytes:
// event_proto.h.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "shoal/metrics/row_file.h"
#include "shoal/metrics/sink.h"

namespace shoal::metrics {

class TensorBoard final : public Sink {
 public:
  explicit TensorBoard(const std::filesystem::path& directory, int64_t continue_from_step = 0);

  void write(const StepRecord& record) override;

  // Writes the text as a block of code, indented by four blanks, because TensorBoard renders
  // Markdown: so it is shown as it is.
  void text(int64_t step, std::string_view tag, std::string_view text) override;

  void flush() override;

 private:
  RowFile events_;
  std::set<std::string_view> described_;  // names of fields
};

}  // namespace shoal::metrics
