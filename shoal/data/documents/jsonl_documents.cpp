#include "shoal/data/documents/jsonl_documents.h"

#include <algorithm>
#include <optional>

#include <simdjson.h>

#include "shoal/core/error.h"
#include "shoal/data/documents/stream_window.h"

namespace shoal::data {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

static_assert(StreamWindow::kPadding >= simdjson::SIMDJSON_PADDING);

class JsonlDocuments : public DocumentReader {
 public:
  JsonlDocuments(std::unique_ptr<ByteStream> stream, JsonlOptions options, std::string name)
      : stream_(std::move(stream)),
        options_(std::move(options)),
        name_(std::move(name)),
        window_(*stream_, options_.slice.begin == 0 ? 0 : options_.slice.begin - 1) {
    // A slice that does not begin with a line begins inside one that another reader has.
    if (options_.slice.begin > 0) window_.drop(next_line().size());
  }

  bool next(Document& document) override {
    while (true) {
      window_.drop(line_bytes_);
      line_bytes_ = 0;
      if (window_.position() >= options_.slice.end) return false;
      std::string_view line = next_line();
      if (line.empty()) return false;
      line_bytes_ = line.size();
      if (window_.position() == 0 && line.starts_with(kByteOrderMark))
        line.remove_prefix(kByteOrderMark.size());
      if (line.find_first_not_of(" \t\r\n") == std::string_view::npos) continue;
      document = parse(line);
      if (!document.text.empty()) return true;
    }
  }

 private:
  // With its line feed, if it has one; empty at the end of the text.
  std::string_view next_line() {
    size_t searched = 0;
    while (true) {
      const std::string_view view = window_.view();
      const size_t feed = view.find('\n', searched);
      // The same lines are too long however many bytes the stream gives at a time.
      if (std::min(feed, view.size()) > options_.max_line_bytes)
        throw DataError(format("{}: the line at byte {} is longer than {} bytes", name_,
                               window_.position(), options_.max_line_bytes));
      if (feed != std::string_view::npos) return view.substr(0, feed + 1);
      searched = view.size();
      if (!window_.grow()) return window_.view();
    }
  }

  // By the DOM: its parser is chosen for this machine at run time, and looks at all of the line.
  Document parse(std::string_view line) {
    simdjson::dom::object object;
    const simdjson::error_code error =
        parser_.parse(line.data(), line.size(), /*realloc_if_needed=*/false).get(object);
    if (error == simdjson::NUMBER_ERROR || error == simdjson::STRING_ERROR ||
        error == simdjson::DEPTH_ERROR)
      return parse_wanted(line);
    require(error);
    Document document;
    document.text = field(object, options_.fields.text);
    if (!options_.fields.prompt.empty()) document.prompt = field(object, options_.fields.prompt);
    return document;
  }

  [[nodiscard]] std::string_view field(const simdjson::dom::object& object,
                                       const std::string& key) const {
    simdjson::dom::element value;
    if (object[key].get(value) != simdjson::SUCCESS) refuse_without(key);
    return value.is_null() ? std::string_view() : text_of(value.get_string(), key);
  }

  // A value may be JSON and still nothing that the DOM can hold: a number of thirty digits, half a
  // surrogate pair. What other fields hold concerns nobody, so this parser looks at the wanted ones.
  Document parse_wanted(std::string_view line) {
    simdjson::ondemand::document json;
    simdjson::ondemand::object object;
    const size_t readable = line.size() + StreamWindow::kPadding;
    require(selective_parser_.iterate(line.data(), line.size(), readable).get(json));
    require(json.get_object().get(object));
    std::optional<std::string_view> text;
    std::optional<std::string_view> prompt;
    for (auto each : object) {
      simdjson::ondemand::field field;
      require(std::move(each).get(field));
      const auto take = [&](const std::string& key, std::optional<std::string_view>& to) {
        if (to || !field.key().is_equal(key)) return;
        to =
            field.value().is_null() ? std::string_view() : text_of(field.value().get_string(), key);
      };
      take(options_.fields.text, text);
      if (!options_.fields.prompt.empty()) take(options_.fields.prompt, prompt);
    }
    const bool at_end = json.current_location().error() == simdjson::OUT_OF_BOUNDS;
    require(at_end ? simdjson::SUCCESS : simdjson::TAPE_ERROR);
    if (!text) refuse_without(options_.fields.text);
    if (!prompt && !options_.fields.prompt.empty()) refuse_without(options_.fields.prompt);
    return {.text = *text, .prompt = prompt.value_or("")};
  }

  [[nodiscard]] std::string_view text_of(simdjson::simdjson_result<std::string_view> text,
                                         const std::string& key) const {
    if (text.error() == simdjson::INCORRECT_TYPE)
      refuse(format("holds no text in '{}': name the field with the text (--fields)", key));
    require(text.error());
    return text.value_unsafe();
  }

  void require(simdjson::error_code error) const {
    if (error != simdjson::SUCCESS)
      refuse(format("is no JSON object: {}", simdjson::error_message(error)));
  }

  [[noreturn]] void refuse_without(const std::string& key) const {
    refuse(format("has no field '{}': name the one with the text (--fields)", key));
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw DataError(format("{}: the line at byte {} {}", name_, window_.position(), what));
  }

  std::unique_ptr<ByteStream> stream_;
  const JsonlOptions options_;
  const std::string name_;
  StreamWindow window_;
  simdjson::dom::parser parser_;
  simdjson::ondemand::parser selective_parser_;
  size_t line_bytes_ = 0;  // of the line that was handed out last
};

}  // namespace

std::unique_ptr<DocumentReader> read_jsonl(std::unique_ptr<ByteStream> stream,
                                           const JsonlOptions& options,
                                           const std::string& name) {
  return std::make_unique<JsonlDocuments>(std::move(stream), options, name);
}

}  // namespace shoal::data
