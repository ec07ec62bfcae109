#include "shoal/metrics/jsonl.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "shoal/core/any_bytes.h"
#include "shoal/core/format.h"
#include "shoal/core/json_fields.h"

namespace shoal::metrics {
namespace {

constexpr std::string_view kBegin = R"({"step":)";

std::optional<int64_t> step_of_object(std::string_view line) {
  if (!line.starts_with(kBegin) || !line.ends_with('}')) return std::nullopt;
  const std::string_view rest = line.substr(kBegin.size());
  int64_t step = 0;
  const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), step);
  if (error != std::errc() || (*stop != ',' && *stop != '}')) return std::nullopt;
  return step;
}

std::string quoted(std::string_view bytes) {
  std::string text = "\"";
  for (const char c : valid_utf8(bytes)) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text += format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      text += c;
    }
  }
  return text + "\"";
}

using json::element;

// A number, or one of the strings that stand for what JSON cannot write.
std::optional<double> real_of(element value) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double number = 0;
  if (value.get_double().get(number) == simdjson::SUCCESS)
    return std::abs(number) <= kLargestFigure ? number : std::copysign(kInfinity, number);
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) return std::nullopt;
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return kInfinity;
  if (text == "-inf") return -kInfinity;
  return std::nullopt;
}

std::optional<int64_t> whole_of(element value) {
  int64_t number = 0;
  if (value.get_int64().get(number) != simdjson::SUCCESS) return std::nullopt;
  return number;
}

// Sets one metric; false when the value is not of its type.
struct SetMetric {
  StepRecord& record;
  element value;

  bool operator()(int64_t StepRecord::*member) const { return set(member, whole_of(value)); }
  bool operator()(double StepRecord::*member) const { return set(member, real_of(value)); }
  bool operator()(std::optional<int64_t> StepRecord::*member) const {
    return set(member, whole_of(value));
  }
  bool operator()(std::optional<double> StepRecord::*member) const {
    return set(member, real_of(value));
  }

 private:
  template <class Member, class Value>
  [[nodiscard]] bool set(Member StepRecord::*member, const std::optional<Value>& read) const {
    if (read) record.*member = *read;
    return read.has_value();
  }
};

}  // namespace

std::optional<StepRecord> record_of(std::string_view line) {
  if (!step_of_object(line)) return std::nullopt;
  try {
    const json::Document document(line);
    const json::Fields values(document.root(), "record");
    StepRecord record;
    for (const Field& field : fields()) {
      const std::optional<element> value = values.find(std::string(field.name));
      if (value && !std::visit(SetMetric{record, *value}, field.member)) return std::nullopt;
    }
    return record;
  } catch (const DataError&) {
    return std::nullopt;
  }
}

std::optional<TextRecord> text_of(std::string_view line) {
  const std::optional<int64_t> step = step_of_object(line);
  if (!step) return std::nullopt;
  try {
    const json::Document document(line);
    const json::Fields values(document.root(), "text");
    return TextRecord{.step = *step, .tag = values.text("tag"), .text = values.text("text")};
  } catch (const DataError&) {
    return std::nullopt;
  }
}

Jsonl::Jsonl(const std::filesystem::path& directory,
             int64_t continue_from_step,
             std::optional<int64_t> texts_from)
    : records_(directory / "metrics.jsonl"), texts_(directory / "texts.jsonl") {
  records_.cut(continue_from_step, step_of_object);
  texts_.cut(texts_from.value_or(continue_from_step), step_of_object);
}

std::string line_of(const StepRecord& record) {
  std::string line = "{";
  for (const Field& field : fields()) {
    const std::optional<Number> number = field.of(record);
    if (!number) continue;
    if (line.size() > 1) line += ',';
    line += format(finite(*number) ? R"("{}":{})" : R"("{}":"{}")", field.name, exact(*number));
  }
  return line + "}";
}

void Jsonl::write(const StepRecord& record) { records_.append(line_of(record) + "\n"); }

void Jsonl::text(int64_t step, std::string_view tag, std::string_view text) {
  texts_.append(format("{}{},\"tag\":{},\"text\":{}}}\n", kBegin, step, quoted(tag), quoted(text)));
}

void Jsonl::flush() {
  records_.sync();
  texts_.sync();
}

}  // namespace shoal::metrics
