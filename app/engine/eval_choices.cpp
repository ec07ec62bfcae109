#include "app/engine/eval_choices.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cmath>

#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/json_fields.h"
#include "shoal/core/number_in.h"
#include "shoal/data/tokenizer/encoder.h"
#include "shoal/generate/likelihood.h"

#include "app/engine/json_lines.h"
#include "app/progress_line.h"

namespace shoal::app {
namespace {

using data::TokenId;

bool is_space(char letter) { return std::isspace(static_cast<unsigned char>(letter)) != 0; }

// Returns the value of the first of these keys that exists.
json::element find_any(const json::Fields& line, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (const auto found = line.find(key)) return *found;
  }
  std::string names;
  for (const char* key : keys) names += format("{}'{}'", names.empty() ? "" : ", ", key);
  throw DataError(format("there is none of {}", names));
}

std::string text_in(json::element value, const char* what) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) throw DataError(format("{} is not a text", what));
  return std::string(text);
}

// Parses the label, a number or a number in quotes.
size_t label_in(json::element value, size_t endings) {
  uint64_t label = endings;
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) {
    label = number_in<uint64_t>(text).value_or(endings);
  } else if (value.get(label) != simdjson::SUCCESS) {
    label = endings;
  }
  if (label >= endings)
    throw DataError(
        format("the label is not the number of one of the {} endings, counted from 0", endings));
  return label;
}

struct Encoded {
  std::vector<TokenId> context;
  std::vector<TokenId> ending;
};

// Encodes context and ending together and cuts after the context's tokens: encoded separately, the
// tokens could differ. White space between them belongs to the ending, as in tokenizers.
Encoded encode_pair(data::Encoder& encoder, const std::string& context, const std::string& ending) {
  size_t end = context.size();
  while (end > 0 && is_space(context[end - 1])) --end;
  std::string whole = context;
  if (end == context.size() && (ending.empty() || !is_space(ending.front()))) whole += ' ';
  whole += ending;
  Encoded encoded;
  encoder.encode(std::string_view(context).substr(0, end), encoded.context);
  std::vector<TokenId> all;
  encoder.encode(whole, all);
  const size_t cut = std::min(encoded.context.size(), all.size());
  encoded.ending.assign(all.begin() + static_cast<std::ptrdiff_t>(cut), all.end());
  return encoded;
}

struct Judged {
  std::vector<double> log_probabilities;
  size_t plain = 0;     // the likeliest ending
  size_t by_bytes = 0;  // the likeliest ending per byte
};

size_t largest(const std::vector<double>& values) {
  return static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

Judged judge(parallel::ParallelModel& model, data::Encoder& encoder, const ChoiceItem& item) {
  Encoded encoded;
  std::vector<std::vector<TokenId>> endings;
  for (const std::string& ending : item.endings) {
    encoded = encode_pair(encoder, item.context, ending);
    endings.push_back(std::move(encoded.ending));
  }
  Judged judged;
  std::vector<double> per_byte;
  for (const generate::Likelihood& one : generate::likelihoods(model, encoded.context, endings)) {
    const size_t bytes = item.endings[per_byte.size()].size();
    per_byte.push_back(one.log_probability / static_cast<double>(std::max(bytes, size_t{1})));
    judged.log_probabilities.push_back(one.log_probability);
  }
  judged.plain = largest(judged.log_probabilities);
  judged.by_bytes = largest(per_byte);
  return judged;
}

std::string detail_line(const ChoiceItem& item, const Judged& judged) {
  std::string list;
  for (const double one : judged.log_probabilities)
    list += format("{}{:.9g}", list.empty() ? "" : ", ", one);
  return format(
      "{{\"label\": {}, \"chosen\": {}, \"chosen_by_bytes\": {}, \"log_likelihoods\": [{}]}}\n",
      item.label, judged.plain, judged.by_bytes, list);
}

// Returns the share with its standard error: what another set of as many items would change.
std::string with_error(double share, double items) {
  const double error = items > 1 ? std::sqrt(share * (1 - share) / (items - 1)) : 0;
  return format("{:.4f} +- {:.4f}", share, error);
}

}  // namespace

ChoiceItem choice_in(std::string_view line) {
  const json::Document document(line);
  const json::Fields fields(document.root(), "the line");
  ChoiceItem item{.context = text_in(find_any(fields, {"ctx", "context", "query"}), "the context"),
                  .endings = {}};
  simdjson::dom::array endings;
  if (find_any(fields, {"endings", "choices"}).get(endings) != simdjson::SUCCESS)
    throw DataError("the endings are not a list");
  for (const json::element ending : endings) item.endings.push_back(text_in(ending, "an ending"));
  item.label = label_in(find_any(fields, {"label", "gold"}), item.endings.size());
  return item;
}

Report eval_choices(const OpenedModel& model,
                    std::shared_ptr<const data::Tokenizer> tokenizer,
                    const ChoiceOptions& options) {
  data::Encoder encoder(std::move(tokenizer));
  std::atomic<int64_t> items = 0;
  std::atomic<int64_t> plain = 0;
  int64_t by_bytes = 0;
  std::string details;
  {
    const ProgressLine progress([&] {
      return format(
          "{} items, {:.1f} % right", items.load(),
          100.0 * static_cast<double>(plain) / static_cast<double>(std::max<int64_t>(1, items)));
    });
    for_each_line(options.file, [&](std::string_view line) {
      const ChoiceItem item = choice_in(line);
      const Judged judged = judge(*model.model, encoder, item);
      plain += judged.plain == item.label ? 1 : 0;
      by_bytes += judged.by_bytes == item.label ? 1 : 0;
      ++items;
      if (options.details) details += detail_line(item, judged);
    });
  }
  if (items == 0) throw DataError(format("there are no items in {}", options.file));
  if (options.details) write_file_atomically(*options.details, details);
  const auto count = static_cast<double>(items);
  const double accuracy = static_cast<double>(plain) / count;
  const double normalized = static_cast<double>(by_bytes) / count;
  Report report;
  report.section("choices")
      .add("items", items.load())
      .add("accuracy", accuracy, with_error(accuracy, count))
      .add("accuracy by bytes", normalized, with_error(normalized, count));
  return report;
}

}  // namespace shoal::app
