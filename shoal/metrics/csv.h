// csv.h -- metrics as a table: a line of names, then a row per record.
//
//   step,tokens,loss,val_loss,...
//   100,409600,4.5,,...
//
// Numbers are written so that they read back exactly. An empty cell is an absent metric; nan, inf
// and -inf are values. On resume the rows from continue_from_step on are removed.
#pragma once

#include <filesystem>

#include "shoal/metrics/row_file.h"
#include "shoal/metrics/sink.h"

namespace shoal::metrics {

class Csv final : public Sink {
 public:
  explicit Csv(const std::filesystem::path& path, int64_t continue_from_step = 0);

  void write(const StepRecord& record) override;
  void text(int64_t step, std::string_view tag, std::string_view text) override;  // ignored
  void flush() override;

 private:
  RowFile rows_;
};

}  // namespace shoal::metrics
