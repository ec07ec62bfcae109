#include "shoal/state/checkpoint_diff.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <set>
#include <span>

#include "shoal/state/float_types.h"

namespace shoal::state {
namespace {

using Bytes = std::vector<std::byte>;

Shape place_of(uint64_t element, const Box& block) {
  Shape at = block.begin;
  for (size_t dim = at.size(); dim-- > 0;) {
    const auto extent = static_cast<uint64_t>(block.extent[dim]);
    at[dim] += static_cast<int64_t>(element % extent);
    element /= extent;
  }
  return at;
}

bool is_larger(double by, double than) { return std::isnan(by) ? !std::isnan(than) : by > than; }

// `number` says what the bits of an element stand for.
template <class Bits, class Number>
void tally(const Bytes& first,
           const Bytes& second,
           const Box& block,
           TensorDifference& found,
           Number number) {
  const auto bits_of = [](const Bytes& bytes, size_t i) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + i * sizeof bits, sizeof bits);
    return bits;
  };
  for (size_t i = 0; i < first.size() / sizeof(Bits); ++i) {
    const Bits a = bits_of(first, i);
    const Bits b = bits_of(second, i);
    if (a == b) continue;
    ++found.differing;
    const auto by = static_cast<double>(std::abs(number(a) - number(b)));
    if (found.largest && !is_larger(by, found.largest->by)) continue;
    found.largest = LargestDifference{by, place_of(i, block), static_cast<double>(number(a)),
                                      static_cast<double>(number(b))};
  }
}

// Whole numbers of 64 bits have their exact difference in this type.
using Wide = long double;

template <class Integer>
void tally_integers(const Bytes& first,
                    const Bytes& second,
                    const Box& block,
                    TensorDifference& found) {
  tally<Integer>(first, second, block, found, [](Integer n) { return static_cast<Wide>(n); });
}

void count(const Bytes& first, const Bytes& second, size_t element, TensorDifference& found) {
  for (size_t at = 0; at < first.size(); at += element)
    if (std::memcmp(first.data() + at, second.data() + at, element) != 0) ++found.differing;
}

void tally_block(DType type,
                 const Bytes& first,
                 const Bytes& second,
                 const Box& block,
                 TensorDifference& found) {
  switch (type) {
    case DType::kF64:
      return tally<uint64_t>(first, second, block, found,
                             [](uint64_t bits) { return std::bit_cast<double>(bits); });
    case DType::kF32:
      return tally<uint32_t>(first, second, block, found,
                             [](uint32_t bits) { return double{std::bit_cast<float>(bits)}; });
    case DType::kBf16:
      return tally<uint16_t>(first, second, block, found,
                             [](uint16_t bits) { return double{bf16_to_fp32(bits)}; });
    case DType::kF16:
      return tally<uint16_t>(first, second, block, found,
                             [](uint16_t bits) { return double{fp16_to_fp32(bits)}; });
    case DType::kI64:
      return tally_integers<int64_t>(first, second, block, found);
    case DType::kU64:
      return tally_integers<uint64_t>(first, second, block, found);
    case DType::kI32:
      return tally_integers<int32_t>(first, second, block, found);
    case DType::kU32:
      return tally_integers<uint32_t>(first, second, block, found);
    case DType::kI16:
      return tally_integers<int16_t>(first, second, block, found);
    case DType::kU16:
      return tally_integers<uint16_t>(first, second, block, found);
    case DType::kI8:
      return tally_integers<int8_t>(first, second, block, found);
    case DType::kU8:
    case DType::kBool:
      return tally_integers<uint8_t>(first, second, block, found);
    default:
      return count(first, second, element_bytes(type), found);
  }
}

bool begins_with(const std::string& name, const std::string& prefix) {
  return name.compare(0, prefix.size(), prefix) == 0;
}

std::vector<ValueDifference> diff_values(const Checkpoint& first, const Checkpoint& second) {
  const auto with_step = [](const Checkpoint& checkpoint) {
    Values values = checkpoint.values();
    values["step"] = std::to_string(checkpoint.step());
    return values;
  };
  const Values a = with_step(first);
  const Values b = with_step(second);
  std::set<std::string> keys;
  for (const Values* values : {&a, &b}) {
    for (const auto& [key, value] : *values) keys.insert(key);
  }
  const auto value_of = [](const Values& values, const std::string& key) {
    const auto found = values.find(key);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
  std::vector<ValueDifference> found;
  for (const std::string& key : keys) {
    ValueDifference difference{key, value_of(a, key), value_of(b, key)};
    if (difference.first != difference.second) found.push_back(std::move(difference));
  }
  return found;
}

// All that either has, by name; contents are not compared yet.
std::vector<TensorDifference> pairs_of(const Checkpoint& first,
                                       const Checkpoint& second,
                                       const std::string& only) {
  std::vector<TensorDifference> pairs;
  auto a = first.tensors().begin();
  auto b = second.tensors().begin();
  while (a != first.tensors().end() || b != second.tensors().end()) {
    TensorDifference pair;
    const bool a_left = a != first.tensors().end();
    const bool b_left = b != second.tensors().end();
    const bool take_a = a_left && (!b_left || a->name <= b->name);
    const bool take_b = b_left && (!a_left || b->name <= a->name);
    if (take_a) pair.first = *a++;
    if (take_b) pair.second = *b++;
    if (begins_with(pair.name(), only)) pairs.push_back(std::move(pair));
  }
  return pairs;
}

bool are_comparable(const TensorDifference& pair) {
  return pair.first && pair.second && pair.first->dtype == pair.second->dtype &&
         pair.first->shape == pair.second->shape;
}

void compare(const Checkpoint& first,
             const Checkpoint& second,
             uint64_t block_elements,
             TensorDifference& pair,
             Progress& progress) {
  const uint64_t element = element_bytes(pair.first->dtype);
  pair.elements = elements_of(whole_of(pair.first->shape));
  Bytes a;
  Bytes b;
  for_each_block(pair.first->shape, block_elements, [&](const Box& block) {
    a.resize(elements_of(block) * element);
    b.resize(a.size());
    first.read(pair.name(), block, a);
    second.read(pair.name(), block, b);
    if (std::memcmp(a.data(), b.data(), a.size()) != 0)
      tally_block(pair.first->dtype, a, b, block, pair);
    progress.done += 2 * a.size();
  });
}

}  // namespace

CheckpointDifference diff(const Checkpoint& first,
                          const Checkpoint& second,
                          const DiffOptions& options,
                          Progress& progress) {
  CheckpointDifference found;
  if (options.only.empty()) found.values = diff_values(first, second);
  std::vector<TensorDifference> pairs = pairs_of(first, second, options.only);
  uint64_t total = 0;
  for (const TensorDifference& pair : pairs) {
    if (are_comparable(pair)) total += 2 * tensor_bytes(pair.first->dtype, pair.first->shape);
  }
  progress.total = total;
  for (TensorDifference& pair : pairs) {
    if (pair.first && pair.second) ++found.compared;
    const bool comparable = are_comparable(pair);
    if (comparable) compare(first, second, options.block, pair, progress);
    if (!comparable || pair.differing > 0) found.tensors.push_back(std::move(pair));
  }
  return found;
}

}  // namespace shoal::state
