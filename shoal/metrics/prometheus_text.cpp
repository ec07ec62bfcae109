#include "shoal/metrics/prometheus_text.h"

#include <cmath>

#include "shoal/core/any_bytes.h"
#include "shoal/core/format.h"

namespace shoal::metrics {
namespace {

std::string prometheus_name(const Field& field) {
  std::string name(field.name);
  if (field.unit == "s" && !name.ends_with("_seconds")) name += "_seconds";
  return name;
}

std::string value_of(const Number& number) {
  const auto* real = std::get_if<double>(&number);
  if (real != nullptr && std::isnan(*real)) return "NaN";
  if (real != nullptr && std::isinf(*real)) return *real < 0 ? "-Inf" : "+Inf";
  return exact(number);
}

// Returns the text between the quotes of a label.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : valid_utf8(text)) {
    if (letter == '\n') {
      result += "\\n";
      continue;
    }
    if (letter == '\\' || letter == '"') result += '\\';
    result += letter;
  }
  return result;
}

}  // namespace

PrometheusText::PrometheusText(std::string_view run) : label_(format("run=\"{}\"", escaped(run))) {}

void PrometheusText::set(const StepRecord& record) {
  for (const Field& field : fields())
    if (const std::optional<Number> number = field.of(record))
      set(prometheus_name(field), field.help, *number);
}

void PrometheusText::set(const std::string& name, std::string_view help, const Number& value) {
  samples_[name] = format("# HELP shoal_{} {}\n# TYPE shoal_{} gauge\nshoal_{}{{{}}} {}\n", name,
                          help, name, name, label_, value_of(value));
}

std::string PrometheusText::page() const {
  std::string page;
  for (const auto& [name, sample] : samples_) page += sample;
  return page;
}

}  // namespace shoal::metrics
