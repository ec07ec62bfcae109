#include "shoal/state/piece_index.h"

#include <algorithm>
#include <cstring>

#include "shoal/core/error.h"
#include "shoal/core/json_text.h"

namespace shoal::state {
namespace {

// Numbers from a text that somebody sent, as they lie in memory: all machines of a job are alike.
class Unpacking {
 public:
  explicit Unpacking(std::string_view text) : text_(text) {}

  template <class Number>
  Number number() {
    Number value{};
    several(std::span(&value, 1));
    return value;
  }

  template <class Number>
  void several(std::span<Number> out) {
    if (out.empty()) return;  // a scalar's box
    if (out.size_bytes() > text_.size()) throw DataError("a list of pieces ends too early");
    std::memcpy(out.data(), text_.data(), out.size_bytes());
    text_.remove_prefix(out.size_bytes());
  }

  [[nodiscard]] bool at_end() const { return text_.empty(); }

 private:
  std::string_view text_;
};

template <class Number>
void pack(std::string& text, std::span<const Number> numbers) {
  if (!numbers.empty())
    text.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
}

struct PackedPiece {
  uint32_t tensor = 0;
  uint32_t file = 0;
  uint64_t at = 0;
};

}  // namespace

PieceIndex::PieceIndex(const CheckpointManifest& manifest)
    : manifest_(&manifest), tensors_(manifest.tensors.size()) {}

void PieceIndex::add_piece(size_t tensor,
                           uint32_t file,
                           uint64_t at,
                           std::span<const int64_t> box,
                           std::span<const uint32_t> sums) {
  tensors_[tensor].all.push_back(
      {.at = at, .file = file, .box = numbers_.size(), .sums = sums_.size()});
  numbers_.insert(numbers_.end(), box.begin(), box.end());
  sums_.insert(sums_.end(), sums.begin(), sums.end());
  sorted_ = false;
}

void PieceIndex::add_file(size_t file, std::string_view header, const std::string& name) {
  const DataFile& described = manifest_->files[file];
  if (header.size() != described.header_bytes || xxh3_128(header) != described.header_digest)
    throw DataError(
        format("{} is damaged: the header in its first {} bytes is not what was written", name,
               described.header_bytes));
  std::vector<int64_t> box;
  const std::vector<TensorSpec>& tensors = manifest_->tensors;
  for (const PieceInFile& piece : read_part_header(header, described.bytes, manifest_->id, name)) {
    const auto found =
        std::lower_bound(tensors.begin(), tensors.end(), piece,
                         [](const TensorSpec& a, const TensorSpec& b) { return a.name < b.name; });
    if (found == tensors.end() || *found != static_cast<const TensorSpec&>(piece))
      throw DataError(format("{}: the manifest has no tensor {} of {} {}", name,
                             json::in_quotes(piece.name), dtype_name(piece.dtype),
                             describe(piece.shape)));
    box.assign(piece.box.begin.begin(), piece.box.begin.end());
    box.insert(box.end(), piece.box.extent.begin(), piece.box.extent.end());
    add_piece(static_cast<size_t>(found - tensors.begin()), static_cast<uint32_t>(file), piece.at,
              box, piece.crc32c);
  }
}

void PieceIndex::add(const PieceIndex& other) {
  for (size_t tensor = 0; tensor < tensors_.size(); ++tensor) {
    const size_t dims = manifest_->tensors[tensor].shape.size();
    for (const Entry& entry : other.tensors_[tensor].all)
      add_piece(tensor, entry.file, entry.at,
                std::span(other.numbers_).subspan(entry.box, 2 * dims),
                other.place_of(tensor, entry).crc32c);
  }
}

// For each piece: PackedPiece, its box, its checksums.
std::string PieceIndex::packed() const {
  std::string text;
  text.reserve(pieces() * (sizeof(PackedPiece) + 4 * sizeof(int64_t)) + 4 * sums_.size());
  for (size_t tensor = 0; tensor < tensors_.size(); ++tensor) {
    const size_t dims = manifest_->tensors[tensor].shape.size();
    for (const Entry& entry : tensors_[tensor].all) {
      const PackedPiece piece{static_cast<uint32_t>(tensor), entry.file, entry.at};
      pack(text, std::span(&piece, 1));
      pack(text, std::span(numbers_).subspan(entry.box, 2 * dims));
      pack(text, place_of(tensor, entry).crc32c);
    }
  }
  return text;
}

void PieceIndex::add_packed(std::string_view text) {
  std::vector<int64_t> numbers;
  std::vector<uint32_t> sums;
  for (Unpacking rest(text); !rest.at_end();) {
    const auto packed = rest.number<PackedPiece>();
    if (packed.tensor >= tensors_.size() || packed.file >= manifest_->files.size())
      throw DataError("a list of pieces names what the manifest has not");
    const TensorSpec& tensor = manifest_->tensors[packed.tensor];
    const size_t dims = tensor.shape.size();
    numbers.resize(2 * dims);
    rest.several(std::span(numbers));
    const Box box{Shape(numbers.begin(), numbers.begin() + static_cast<ptrdiff_t>(dims)),
                  Shape(numbers.begin() + static_cast<ptrdiff_t>(dims), numbers.end())};
    const uint64_t file_bytes = manifest_->files[packed.file].bytes;
    const bool fits = is_inside(box, tensor.shape) && elements_of(box) > 0 &&
                      packed.at <= file_bytes &&
                      elements_of(box) * element_bytes(tensor.dtype) <= file_bytes - packed.at;
    if (!fits) throw DataError("a list of pieces has one that does not lie in its tensor and file");
    sums.resize(chunks_of(elements_of(box) * element_bytes(tensor.dtype)));
    rest.several(std::span(sums));
    add_piece(packed.tensor, packed.file, packed.at, numbers, sums);
  }
}

size_t PieceIndex::pieces() const {
  size_t sum = 0;
  for (const Entries& entries : tensors_) sum += entries.all.size();
  return sum;
}

void PieceIndex::sort() {
  for (size_t tensor = 0; tensor < tensors_.size(); ++tensor) {
    Entries& entries = tensors_[tensor];
    const size_t dims = manifest_->tensors[tensor].shape.size();
    if (dims == 0) continue;
    std::sort(entries.all.begin(), entries.all.end(),
              [&](const Entry& a, const Entry& b) { return numbers_[a.box] < numbers_[b.box]; });
    entries.longest = 0;
    for (const Entry& entry : entries.all)
      entries.longest = std::max(entries.longest, numbers_[entry.box + dims]);
  }
  sorted_ = true;
}

Box PieceIndex::box_of(size_t tensor, const Entry& entry) const {
  const auto dims = static_cast<ptrdiff_t>(manifest_->tensors[tensor].shape.size());
  const auto begin = numbers_.begin() + static_cast<ptrdiff_t>(entry.box);
  return {Shape(begin, begin + dims), Shape(begin + dims, begin + 2 * dims)};
}

PieceIndex::Place PieceIndex::place_of(size_t tensor, const Entry& entry) const {
  const TensorSpec& spec = manifest_->tensors[tensor];
  uint64_t bytes = element_bytes(spec.dtype);
  for (size_t dim = 0; dim < spec.shape.size(); ++dim)
    bytes *= static_cast<uint64_t>(numbers_[entry.box + spec.shape.size() + dim]);
  return {entry.file, entry.at, std::span(sums_).subspan(entry.sums, chunks_of(bytes))};
}

void PieceIndex::for_each(size_t tensor, const Visit& visit) const {
  for (const Entry& entry : tensors_[tensor].all)
    visit(place_of(tensor, entry), box_of(tensor, entry));
}

void PieceIndex::for_each(size_t tensor, const Box& box, const Visit& visit) const {
  SHOAL_CHECK(sorted_, "pieces are looked for before they are sorted");
  const Entries& entries = tensors_[tensor];
  const size_t dims = box.begin.size();
  if (dims == 0) return for_each(tensor, visit);
  // A piece that begins earlier than this has no row in the box.
  auto at = std::partition_point(entries.all.begin(), entries.all.end(), [&](const Entry& entry) {
    return numbers_[entry.box] <= box.begin[0] - entries.longest;
  });
  for (; at != entries.all.end() && numbers_[at->box] < box.begin[0] + box.extent[0]; ++at) {
    bool meets = true;
    for (size_t dim = 0; dim < dims && meets; ++dim) {
      const int64_t begin = numbers_[at->box + dim];
      const int64_t end = begin + numbers_[at->box + dims + dim];
      meets = begin < box.begin[dim] + box.extent[dim] && end > box.begin[dim];
    }
    if (meets) visit(place_of(tensor, *at), box_of(tensor, *at));
  }
}

}  // namespace shoal::state
