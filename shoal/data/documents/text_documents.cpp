#include "shoal/data/documents/text_documents.h"

#include <algorithm>
#include <vector>

#include "shoal/core/error.h"
#include "shoal/data/documents/stream_window.h"

namespace shoal::data {
namespace {

constexpr size_t kNowhere = std::string_view::npos;
constexpr size_t kLongestPiece = size_t{256} << 20;  // of a tokenizer's pattern

uint64_t first_position(const TextOptions& options) {
  return options.slice.begin -
         std::min<uint64_t>(options.slice.begin, bytes_before_slice(options.separator));
}

// By how many bytes a separator can stand behind itself and overlap, smallest first: 1 for "\n\n".
std::vector<size_t> overlaps_of(std::string_view separator) {
  std::vector<size_t> shifts;
  for (size_t shift = 1; shift < separator.size(); ++shift) {
    if (separator.starts_with(separator.substr(shift))) shifts.push_back(shift);
  }
  return shifts;
}

// How much text to look at when there was nowhere to cut it in `size` bytes: twice as much, or the
// same bytes would be looked at again with every read.
size_t more_to_cut(size_t size, const std::string& name, uint64_t position) {
  if (size > kLongestPiece)
    throw DataError(format("{}: nowhere to cut the text at byte {}", name, position));
  return std::min(2 * size, kLongestPiece + 1);
}

class SeparatedDocuments : public DocumentReader {
 public:
  SeparatedDocuments(std::unique_ptr<ByteStream> stream, TextOptions options, std::string name)
      : stream_(std::move(stream)),
        options_(std::move(options)),
        overlaps_(overlaps_of(options_.separator)),
        name_(std::move(name)),
        window_(*stream_, first_position(options_)) {
    if (options_.slice.begin == 0) return;
    while (true) {  // what stands before the first separator is another slice's
      const size_t found = window_.view().find(options_.separator);
      if (found != kNowhere) {
        window_.drop(found + options_.separator.size());
        behind_separator_ = true;
        return;
      }
      const size_t kept = std::min(window_.view().size(), options_.separator.size() - 1);
      window_.drop(window_.view().size() - kept);
      if (!window_.grow()) {
        window_.drop(window_.view().size());
        return;
      }
    }
  }

  bool next(Document& document) override {
    while (true) {
      window_.drop(used_);
      used_ = 0;
      if (behind_separator_) drop_overlaps();
      if (begins_ && window_.position() >= options_.slice.end) return false;
      document = next_piece();
      if (!document.text.empty() || (!document.begins && document.ends)) return true;
      if (window_.at_end() && window_.view().empty()) return false;
    }
  }

 private:
  Document next_piece() {
    size_t searched = 0;
    size_t wanted = options_.piece_bytes;
    const size_t least = begins_ ? wanted : 1;
    while (true) {
      const std::string_view view = window_.view();
      const size_t found = view.find(options_.separator, searched);
      if (found != kNowhere) {
        behind_separator_ = true;
        return hand_out(found, found + options_.separator.size(), true);
      }
      // The beginning of a separator may stand at the end.
      searched = view.size() - std::min(view.size(), options_.separator.size() - 1);
      if (searched >= wanted) {
        const size_t cut = last_safe_cut(options_.pattern, view.substr(0, searched));
        if (cut >= least) return hand_out(cut, cut, false);
        wanted = more_to_cut(searched, name_, window_.position());
      }
      if (!window_.grow()) return hand_out(window_.view().size(), window_.view().size(), true);
    }
  }

  // Separators that overlap are one. Where a document begins could not be told otherwise without all
  // of the text before it, which a slice does not have.
  void drop_overlaps() {
    behind_separator_ = false;
    for (bool again = !overlaps_.empty(); again;) {
      while (window_.view().size() < options_.separator.size() && window_.grow()) {
      }
      const auto follows = [&](size_t shift) {
        return window_.view().starts_with(
            std::string_view(options_.separator).substr(options_.separator.size() - shift));
      };
      const auto found = std::find_if(overlaps_.begin(), overlaps_.end(), follows);
      again = found != overlaps_.end();
      if (again) window_.drop(*found);
    }
  }

  Document hand_out(size_t size, size_t used, bool ends) {
    used_ = used;
    Document document{.text = window_.view().substr(0, size), .begins = begins_, .ends = ends};
    begins_ = ends;
    return document;
  }

  std::unique_ptr<ByteStream> stream_;
  const TextOptions options_;
  const std::vector<size_t> overlaps_;
  const std::string name_;
  StreamWindow window_;
  bool begins_ = true;
  bool behind_separator_ = false;  // the window begins there, or will when `used_` is dropped
  size_t used_ = 0;                // bytes of the window that were handed out last
};

// A slice goes from its first border to that of the next slice, however far behind its end that is.
class WholeText : public DocumentReader {
 public:
  WholeText(std::unique_ptr<ByteStream> stream, TextOptions options, std::string name)
      : stream_(std::move(stream)),
        options_(std::move(options)),
        name_(std::move(name)),
        window_(*stream_, first_position(options_)),
        begins_(options_.slice.begin == 0) {
    if (!begins_) find_begin();
    done_ = done_ || window_.position() >= options_.slice.end;
    unsearched_ = options_.slice.end;
  }

  bool next(Document& document) override {
    window_.drop(used_);
    used_ = done_ ? 0 : piece_size();
    if (used_ == 0) return false;
    document = {.text = window_.view().substr(0, used_),
                .begins = begins_,
                .ends = window_.at_end() && used_ == window_.view().size()};
    begins_ = false;
    return true;
  }

 private:
  size_t piece_size() {
    size_t wanted = options_.piece_bytes;
    const size_t least = begins_ ? wanted : 1;
    while (true) {
      while (settled() < wanted && window_.grow()) {
      }
      const size_t border = find_border();
      const std::string_view view = window_.view();
      done_ = border != kNowhere || window_.at_end();
      if (done_) return std::min(border, view.size());
      const size_t cut = last_safe_cut(options_.pattern, view.substr(0, settled()));
      if (cut >= least) return cut;
      wanted = more_to_cut(settled(), name_, window_.position());
    }
  }

  // A slice without a border in it is empty: the one before goes on through it.
  void find_begin() {
    unsearched_ = options_.slice.begin;
    while (unsearched_ < options_.slice.end) {
      const size_t border = find_border();
      if (border != kNowhere) {
        window_.drop(border);
        return;
      }
      window_.drop(settled());
      if (!window_.grow()) break;
    }
    done_ = true;
  }

  // Where the next slice, or this one, can begin: the first such place in the window that has not
  // been searched for it.
  size_t find_border() {
    const std::string_view view = window_.view();
    const size_t from = unsearched_ - std::min(unsearched_, window_.position());
    const size_t border = first_plain_cut(view, from);
    // The last byte may become a border when more is known.
    if (border == kNowhere && !view.empty())
      unsearched_ = std::max(unsearched_, window_.position() + view.size() - 1);
    return border;
  }

  // How much of the window is not needed to tell whether its last byte is a border: all but that
  // byte and two before it. They also are text for the last piece, in case that nothing follows.
  [[nodiscard]] size_t settled() const {
    const size_t size = window_.view().size();
    return size - std::min(size, bytes_before_slice("") + 1);
  }

  std::unique_ptr<ByteStream> stream_;
  const TextOptions options_;
  const std::string name_;
  StreamWindow window_;
  uint64_t unsearched_ = 0;  // no border before this position, where one is being looked for
  bool begins_;
  bool done_ = false;
  size_t used_ = 0;  // bytes of the window that were handed out last
};

}  // namespace

size_t bytes_before_slice(const std::string& separator) {
  return separator.empty() ? 2 : separator.size();
}

std::unique_ptr<DocumentReader> read_text(std::unique_ptr<ByteStream> stream,
                                          const TextOptions& options,
                                          const std::string& name) {
  if (options.separator.empty())
    return std::make_unique<WholeText>(std::move(stream), options, name);
  return std::make_unique<SeparatedDocuments>(std::move(stream), options, name);
}

}  // namespace shoal::data
