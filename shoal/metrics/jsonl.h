// jsonl.h -- metrics as lines of JSON: metrics.jsonl has an object per record, texts.jsonl one per
// text.
//
//   {"step":100,"tokens":409600,"loss":4.5,"lr":0.0003,...}
//   {"step":100,"tag":"sample","text":"Once upon a time"}
//
// Numbers are written so that they read back exactly. An absent metric has no key. JSON has no NaN,
// so NaN and the infinities are the strings "nan", "inf" and "-inf", which Python's float()
// understands. On resume the lines from continue_from_step on are removed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "shoal/metrics/row_file.h"
#include "shoal/metrics/sink.h"

namespace shoal::metrics {

class Jsonl final : public Sink {
 public:
  explicit Jsonl(const std::filesystem::path& directory,
                 int64_t continue_from_step = 0,
                 std::optional<int64_t> texts_from = std::nullopt);

  void write(const StepRecord& record) override;
  void text(int64_t step, std::string_view tag, std::string_view text) override;
  void flush() override;

 private:
  RowFile records_;
  RowFile texts_;
};

struct TextRecord {
  int64_t step = 0;
  std::string tag;
  std::string text;
};

// Returns a record as a line without its end.
std::string line_of(const StepRecord& record);

// These read back a line without its end; nothing if it is not one that Jsonl writes. A key that is
// not known is ignored: a newer version wrote it.
std::optional<StepRecord> record_of(std::string_view line);
std::optional<TextRecord> text_of(std::string_view line);

}  // namespace shoal::metrics
