// record.h -- the figures of one training step, and the one list that says what they are.
//
//   Record record{.step = 100, .loss = 4.5};
//   for (const Field& field : fields()) {
//     if (const std::optional<Number> number = field.of(record)) { ... }
//   }
//
// Every sink and the legend walk fields(), so a figure cannot be in one of them and missing from
// another. A figure that is not known is absent, never 0 or NaN; a loss that is NaN or infinite is
// a figure like any other and is written as such. docs/metrics.md says how each one is computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace shoal::metrics {

struct Record {
  int64_t step = 0;  // steps done: the first record of a run has 1
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

using Number = std::variant<int64_t, double>;

// How people are shown a figure: 123456, 4.1234, 3.00e-4, 0.812, 450 ms, 12.3k, 41.2%, 1.2 GiB.
enum class Show { kWhole, kLoss, kPower, kPlain, kTime, kRate, kShare, kBytes };

struct Field {
  using Member = std::variant<int64_t Record::*,
                              double Record::*,
                              std::optional<int64_t> Record::*,
                              std::optional<double> Record::*>;

  std::string_view name;   // in CSV and JSONL
  std::string_view group;  // TensorBoard's tag is group/name
  std::string_view unit;
  std::string_view help;
  Member member;
  Show show;
  std::string_view heading = "";  // above its column of the progress line; empty: it has none
  size_t width = 0;               // of that column

  [[nodiscard]] std::optional<Number> of(const Record& record) const;
  [[nodiscard]] std::string tag() const;
};

// In the order of Record; the first is the step.
std::span<const Field> fields();

// The shortest decimal text that reads back as exactly this number; "nan", "inf" and "-inf".
std::string exact(const Number& number);

bool finite(const Number& number);

}  // namespace shoal::metrics
