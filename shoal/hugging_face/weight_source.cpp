#include "shoal/hugging_face/weight_source.h"

#include <algorithm>
#include <set>

#include "shoal/core/error.h"
#include "shoal/core/json_text.h"
#include "shoal/state/float_types.h"

namespace shoal::hugging_face {
namespace {

// A vector is a matrix of one column.
struct Matrix {
  int64_t first_row = 0;
  int64_t rows = 0;
  int64_t first_column = 0;
  int64_t columns = 0;
};

Matrix matrix_of(const Box& box) {
  SHOAL_CHECK(box.extent.size() == 1 || box.extent.size() == 2, "{} is no part of a weight",
              describe(box));
  const bool vector = box.extent.size() == 1;
  return {box.begin[0], box.extent[0], vector ? 0 : box.begin[1], vector ? 1 : box.extent[1]};
}

void require_numbers(const std::string& where, const state::TensorSpec& tensor) {
  if (state::is_float(tensor.dtype)) return;
  throw DataError(format("{}: tensor {} is of type {}, but weights are F64, F32, BF16 or F16",
                         where, json::in_quotes(tensor.name), state::dtype_name(tensor.dtype)));
}

void require_shape(const std::string& where, const state::TensorSpec& tensor, const Shape& shape) {
  if (tensor.shape == shape) return;
  throw DataError(format("{}: tensor {} is {}, but the model's is {}", where,
                         json::in_quotes(tensor.name), state::describe(tensor.shape),
                         state::describe(shape)));
}

// Columns of rows that lie one behind the other in `bytes`.
void read_rows(const state::TensorDirectory::Found& tensor,
               int64_t row_width,
               const Matrix& part,
               std::span<float> out) {
  const uint64_t element = state::element_bytes(tensor.info->dtype);
  const bool whole_rows = part.columns == row_width;
  const auto count = static_cast<size_t>(whole_rows ? part.rows * part.columns : part.columns);
  for (int64_t row = 0; row < (whole_rows ? 1 : part.rows); ++row) {
    const auto from =
        static_cast<uint64_t>((part.first_row + row) * row_width + part.first_column) * element;
    state::to_fp32(tensor.info->dtype, tensor.bytes.subspan(from, count * element),
                   out.subspan(static_cast<size_t>(row) * count, count));
  }
}

// The same of a matrix whose rows lie there as columns: some of them at a time, so that what is written lies
// together.
void read_transposed(const state::TensorDirectory::Found& tensor,
                     int64_t row_width,
                     const Matrix& part,
                     std::span<float> out) {
  constexpr int64_t kColumnsAtOnce = 16;
  const auto rows = static_cast<size_t>(part.rows);
  const auto columns = static_cast<size_t>(part.columns);
  std::vector<float> strip;
  for (int64_t first = 0; first < part.columns; first += kColumnsAtOnce) {
    const auto width = static_cast<size_t>(std::min(kColumnsAtOnce, part.columns - first));
    strip.resize(width * rows);
    read_rows(tensor, row_width,
              {part.first_column + first, static_cast<int64_t>(width), part.first_row, part.rows},
              strip);
    for (size_t row = 0; row < rows; ++row) {
      for (size_t i = 0; i < width; ++i)
        out[row * columns + static_cast<size_t>(first) + i] = strip[i * rows + row];
    }
  }
}

}  // namespace

CheckpointWeights::CheckpointWeights(const state::Checkpoint& checkpoint,
                                     const std::vector<state::TensorSpec>& weights)
    : checkpoint_(checkpoint) {
  const std::string where = checkpoint.path().string();
  for (const state::TensorSpec& weight : weights) {
    const state::TensorSpec* const found = checkpoint.find(state::name_in_checkpoint(weight.name));
    if (found == nullptr)
      throw DataError(
          format("{} has no tensor '{}'", where, state::name_in_checkpoint(weight.name)));
    require_numbers(where, *found);
    require_shape(where, *found, weight.shape);
  }
}

void CheckpointWeights::read(const state::TensorSpec& weight,
                             const Box& box,
                             std::span<float> out) const {
  const std::string name = state::name_in_checkpoint(weight.name);
  const state::DType type = checkpoint_.find(name)->dtype;
  if (type == state::DType::kF32) return checkpoint_.read(name, box, std::as_writable_bytes(out));
  std::vector<std::byte> bytes(out.size() * state::element_bytes(type));
  checkpoint_.read(name, box, bytes);
  state::to_fp32(type, bytes, out);
}

DirectoryWeights::DirectoryWeights(const std::filesystem::path& directory,
                                   const DescribedModel& model,
                                   const std::vector<state::TensorSpec>& weights)
    : files_(directory) {
  std::set<std::string> used;
  for (const state::TensorSpec& weight : weights) {
    const ForeignTensor foreign = foreign_tensor(model.family, model.config, weight.name);
    int64_t row = 0;
    for (const ForeignPart& part : foreign.parts) {
      const std::string name = name_in(files_, part.name);
      const state::TensorDirectory::Found found = files_.require(name);
      Shape shape = weight.shape;
      if (foreign.parts.size() > 1) shape[0] = part.rows;
      rows_of_[weight.name].push_back({row, shape[0], foreign.transposed, found});
      row += shape[0];
      if (foreign.transposed) std::reverse(shape.begin(), shape.end());
      require_numbers(directory.string(), *found.info);
      require_shape(directory.string(), *found.info, shape);
      used.insert(name);
    }
    SHOAL_CHECK(row == weight.shape[0], "the parts of {} have {} rows, it has {}", weight.name, row,
                weight.shape[0]);
  }
  for (const std::string& name : files_.names()) {
    if (used.count(name) == 0 && !needs_no_place(name, model.config.tied))
      throw DataError(format("{} has a tensor '{}' that this model has no place for",
                             directory.string(), name));
  }
}

void DirectoryWeights::read(const state::TensorSpec& weight,
                            const Box& box,
                            std::span<float> out) const {
  const Matrix wanted = matrix_of(box);
  const auto columns = static_cast<size_t>(wanted.columns);
  for (const Rows& part : rows_of_.at(weight.name)) {
    const int64_t begin = std::max(wanted.first_row, part.first_row);
    const int64_t end = std::min(wanted.first_row + wanted.rows, part.first_row + part.rows);
    if (begin >= end) continue;
    const auto rows = static_cast<size_t>(end - begin);
    const std::span<float> into =
        out.subspan(static_cast<size_t>(begin - wanted.first_row) * columns, rows * columns);
    const Matrix there = {begin - part.first_row, end - begin, wanted.first_column, wanted.columns};
    if (part.transposed) {
      read_transposed(part.found, part.rows, there, into);
    } else {
      read_rows(part.found, weight.shape.size() == 2 ? weight.shape[1] : 1, there, into);
    }
    part.found.file->release(*part.found.info);
  }
}

}  // namespace shoal::hugging_face
