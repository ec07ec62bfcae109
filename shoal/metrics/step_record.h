// step_record.h -- the metrics of one training step, and the one list that describes them.
//
//   StepRecord record{.step = 100, .loss = 4.5};
//   for (const Field& field : fields()) {
//     if (const std::optional<Number> number = field.of(record)) { ... }
//   }
//
// Every sink and the legend walk fields(), so a metric cannot be in one of them and missing from
// another. A metric that is not known is absent, never 0 or NaN; a loss that is NaN or infinite is
// a value like any other and is written as such. docs/metrics.md says how each one is computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace shoal::metrics {

struct StepRecord {
  int64_t step = 0;  // completed steps: the first record of a run has 1
  int64_t tokens = 0;
  double loss = 0;
  std::optional<double> val_loss{};
  std::optional<double> perplexity{};
  double lr = 0;
  std::optional<double> grad_norm{};
  int64_t skipped_steps = 0;
  double dt = 0;
  std::optional<double> dtf{};
  std::optional<double> dtb{};
  double samples_per_second = 0;
  double tokens_per_second = 0;
  double tokens_per_second_per_device = 0;
  std::optional<double> mfu{};
  std::optional<int64_t> memory_bytes{};
  std::optional<double> startup_seconds{};
  std::optional<double> time_left{};
};

// A figure beyond that is infinite to whoever reads it from a file: sums and differences of others
// are finite.
inline constexpr double kLargestFigure = std::numeric_limits<float>::max();

using Number = std::variant<int64_t, double>;

// How a metric is shown to people: 123456, 4.1234, 3.00e-4, 0.812, 450 ms, 12.3k, 41.2%, 1.2 GiB.
enum class Show { kWhole, kLoss, kPower, kPlain, kTime, kRate, kShare, kBytes };

struct Field {
  using Member = std::variant<int64_t StepRecord::*,
                              double StepRecord::*,
                              std::optional<int64_t> StepRecord::*,
                              std::optional<double> StepRecord::*>;

  std::string_view name;   // name in CSV and JSONL
  std::string_view group;  // TensorBoard's tag is group/name
  std::string_view unit;
  std::string_view help;
  Member member;
  Show show;
  std::string_view heading = "";  // heading of its column in the progress line; empty: no column
  size_t width = 0;               // width of that column

  [[nodiscard]] std::optional<Number> of(const StepRecord& record) const;
  [[nodiscard]] std::string tag() const;
};

// Returns the fields in the order of StepRecord; the first is the step.
std::span<const Field> fields();

// Returns the shortest decimal text that reads back as exactly this number; "nan", "inf" and
// "-inf".
std::string exact(const Number& number);

bool finite(const Number& number);

}  // namespace shoal::metrics
