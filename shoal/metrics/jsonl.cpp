#include "shoal/metrics/jsonl.h"

#include <charconv>
#include <string>

#include "shoal/core/format.h"
#include "shoal/metrics/any_bytes.h"

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

}  // namespace

Jsonl::Jsonl(const std::filesystem::path& directory, int64_t continue_from_step)
    : records_(directory / "metrics.jsonl"), texts_(directory / "texts.jsonl") {
  records_.cut(continue_from_step, step_of_object);
  texts_.cut(continue_from_step, step_of_object);
}

void Jsonl::write(const StepRecord& record) {
  std::string line = "{";
  for (const Field& field : fields()) {
    const std::optional<Number> number = field.of(record);
    if (!number) continue;
    if (line.size() > 1) line += ',';
    line += format(finite(*number) ? R"("{}":{})" : R"("{}":"{}")", field.name, exact(*number));
  }
  records_.append(line + "}\n");
}

void Jsonl::text(int64_t step, std::string_view tag, std::string_view text) {
  texts_.append(format("{}{},\"tag\":{},\"text\":{}}}\n", kBegin, step, quoted(tag), quoted(text)));
}

void Jsonl::flush() {
  records_.sync();
  texts_.sync();
}

}  // namespace shoal::metrics
