#include "shoal/data/documents/jsonl_documents.h"

#include <algorithm>

#include <simdjson.h>

#include "shoal/core/error.h"
#include "shoal/data/documents/stream_window.h"

namespace shoal::data {
namespace {

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
      const std::string_view line = next_line();
      if (line.empty()) return false;
      line_bytes_ = line.size();
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
    if (error != simdjson::SUCCESS)
      refuse(format("is no JSON object: {}", simdjson::error_message(error)));
    Document document;
    document.text = field(object, options_.fields.text);
    if (!options_.fields.prompt.empty()) document.prompt = field(object, options_.fields.prompt);
    return document;
  }

  std::string_view field(const simdjson::dom::object& object, const std::string& key) {
    std::string_view text;
    const simdjson::error_code error = object[key].get(text);
    if (error == simdjson::NO_SUCH_FIELD)
      refuse(format("has no field '{}': name the one with the text (--fields)", key));
    if (error != simdjson::SUCCESS)
      refuse(format("holds no text in '{}': name the field with the text (--fields)", key));
    return text;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw DataError(format("{}: the line at byte {} {}", name_, window_.position(), what));
  }

  std::unique_ptr<ByteStream> stream_;
  const JsonlOptions options_;
  const std::string name_;
  StreamWindow window_;
  simdjson::dom::parser parser_;
  size_t line_bytes_ = 0;  // of the line that was handed out last
};

}  // namespace

std::unique_ptr<DocumentReader> read_jsonl(std::unique_ptr<ByteStream> stream,
                                           const JsonlOptions& options,
                                           const std::string& name) {
  return std::make_unique<JsonlDocuments>(std::move(stream), options, name);
}

}  // namespace shoal::data
