#include "shoal/state/part_report.h"

#include <algorithm>

#include "shoal/core/error.h"
#include "shoal/core/json_text.h"
#include "shoal/core/number_in.h"
#include "shoal/state/manifest_fields.h"

namespace shoal::state {
namespace {

constexpr size_t kNumberDigits = 16;

bool begins_tensor(const PieceSpec& piece) {
  const bool at_origin = std::all_of(piece.box.begin.begin(), piece.box.begin.end(),
                                     [](int64_t begin) { return begin == 0; });
  return at_origin && (elements_of(piece.box) > 0 || elements_of(whole_of(piece.shape)) == 0);
}

std::map<uint64_t, Coverage> written_from(const std::string& text) {
  std::map<uint64_t, Coverage> written;
  const auto number = [&](size_t index) {
    const auto value = number_in<uint64_t>(
        std::string_view(text).substr(index * kNumberDigits, kNumberDigits), 16);
    if (!value) throw DataError("report.written is not made of hex digits");
    return *value;
  };
  const size_t numbers = text.size() / kNumberDigits;
  if (text.size() % kNumberDigits != 0 || numbers % 3 != 0)
    throw DataError("report.written is not made of three numbers each");
  for (size_t i = 0; i < numbers; i += 3)
    written[number(i)] = {.elements = number(i + 1), .places = number(i + 2)};
  return written;
}

}  // namespace

uint64_t key_of(const TensorSpec& tensor) {
  return xxh3_64(format("{} {} {}", tensor.name, dtype_name(tensor.dtype), describe(tensor.shape)));
}

// In each dimension the places of a box are an arithmetic series, met once for every place in the others.
Coverage coverage_of(const Shape& shape, const Box& box) {
  Coverage coverage{.elements = elements_of(box)};
  if (coverage.elements == 0) return coverage;
  uint64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    const auto begin = static_cast<uint64_t>(box.begin[dim]);
    const auto extent = static_cast<uint64_t>(box.extent[dim]);
    const uint64_t pairs = extent % 2 == 0 ? extent / 2 * (extent - 1) : (extent - 1) / 2 * extent;
    coverage.places += stride * (coverage.elements / extent) * (begin * extent + pairs);
    stride *= static_cast<uint64_t>(shape[dim]);
  }
  return coverage;
}

void PartReport::add(const PieceSpec& piece) {
  if (begins_tensor(piece)) {
    const auto at =
        std::lower_bound(tensors.begin(), tensors.end(), piece,
                         [](const TensorSpec& a, const TensorSpec& b) { return a.name < b.name; });
    SHOAL_CHECK(at == tensors.end() || at->name != piece.name, "tensor '{}' is written twice",
                piece.name);
    tensors.insert(at, piece);
  }
  const Coverage more = coverage_of(piece.shape, piece.box);
  if (more.elements == 0) return;
  Coverage& sum = written[key_of(piece)];
  sum.elements += more.elements;
  sum.places += more.places;
}

std::string to_json(const PartReport& report) {
  std::string written;
  for (const auto& [key, sum] : report.written)
    written += format("{:016x}{:016x}{:016x}", key, sum.elements, sum.places);
  return format("{{{},\n \"written\": \"{}\"}}\n", fields_of(report.files, report.tensors),
                written);
}

PartReport part_report_from_json(std::string_view json, const std::string& name) {
  return json::named(name, [&] {
    const json::Document document(json);
    const json::Fields root(document.root(), "report");
    return PartReport{.files = files_from(root),
                      .tensors = tensors_from(root),
                      .written = written_from(root.text("written"))};
  });
}

Joined join(const std::vector<PartReport>& reports) {
  Joined joined;
  std::map<uint64_t, Coverage> written;
  for (const PartReport& report : reports) {
    joined.files.insert(joined.files.end(), report.files.begin(), report.files.end());
    joined.tensors.insert(joined.tensors.end(), report.tensors.begin(), report.tensors.end());
    for (const auto& [key, more] : report.written) {
      Coverage& sum = written[key];
      sum.elements += more.elements;
      sum.places += more.places;
    }
  }
  std::sort(joined.tensors.begin(), joined.tensors.end(),
            [](const TensorSpec& a, const TensorSpec& b) { return a.name < b.name; });
  const auto twice =
      std::adjacent_find(joined.tensors.begin(), joined.tensors.end(),
                         [](const TensorSpec& a, const TensorSpec& b) { return a.name == b.name; });
  if (twice != joined.tensors.end())
    throw DataError(format("tensor {} is written by two ranks, or as two shapes",
                           json::in_quotes(twice->name)));
  for (const TensorSpec& tensor : joined.tensors) {
    const Coverage whole = coverage_of(tensor.shape, whole_of(tensor.shape));
    const auto found = written.find(key_of(tensor));
    const Coverage sum = found == written.end() ? Coverage{} : found->second;
    if (sum != whole)
      throw DataError(format(
          "the pieces of tensor {} have {} elements, which do not cover its shape {} exactly once",
          json::in_quotes(tensor.name), sum.elements, describe(tensor.shape)));
    if (found != written.end()) written.erase(found);
  }
  if (!written.empty())
    throw DataError(format("{} tensors were written without their first element", written.size()));
  return joined;
}

}  // namespace shoal::state
