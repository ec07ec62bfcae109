#include "shoal/cluster/store_table.h"

#include "shoal/core/format.h"
#include "shoal/core/number_in.h"

namespace shoal::cluster {
namespace {

StoreAnswer refused(std::string reason) { return {StoreStatus::kRefused, {std::move(reason)}, 0}; }

}  // namespace

std::optional<StoreAnswer> StoreTable::refuse_if_over_limit(const StoreRequest& request) const {
  size_t added = 0;
  for (const std::string& key : request.keys) {
    if (key.size() > limits_.max_key_bytes) {
      return refused(
          format("a key of {} bytes, at most {} are allowed", key.size(), limits_.max_key_bytes));
    }
    added += key.size();
  }
  for (const std::string& value : request.values) {
    if (value.size() > limits_.max_value_bytes) {
      return refused(format("a value of {} bytes, at most {} are allowed", value.size(),
                            limits_.max_value_bytes));
    }
    added += value.size();
  }
  const bool writes = !request.values.empty() || request.op == StoreOp::kAdd;
  if (writes && values_.size() + request.keys.size() > limits_.max_keys) {
    return refused(format("the store is full: {} keys", values_.size()));
  }
  if (writes && total_bytes_ + added > limits_.max_total_bytes) {
    return refused(format("the store is full: {} bytes", total_bytes_));
  }
  return std::nullopt;
}

void StoreTable::assign(const std::string& key, std::string value) {
  const auto [entry, created] = values_.try_emplace(key);
  total_bytes_ += created ? key.size() : 0;
  total_bytes_ += value.size();
  total_bytes_ -= entry->second.size();
  entry->second = std::move(value);
}

StoreAnswer StoreTable::add(const StoreRequest& request) {
  const auto found = values_.find(request.keys[0]);
  const std::optional<int64_t> before =
      found == values_.end() ? 0 : number_in<int64_t>(found->second);
  int64_t sum = 0;
  if (!before || __builtin_add_overflow(*before, request.number, &sum)) {
    return refused(
        format("key '{}' cannot be added to: it holds no number, or the sum does not fit",
               request.keys[0]));
  }
  assign(request.keys[0], std::to_string(sum));
  return {StoreStatus::kDone, {}, sum};
}

// The contract of c10d's stores: a missing key counts as equal to an empty expectation.
StoreAnswer StoreTable::compare_set(const StoreRequest& request) {
  const std::string& expected = request.values[0];
  const std::string& desired = request.values[1];
  const auto found = values_.find(request.keys[0]);
  const bool exists = found != values_.end();
  if (exists ? found->second == expected : expected.empty()) {
    assign(request.keys[0], desired);
    return {StoreStatus::kDone, {desired}, 0};
  }
  return {StoreStatus::kDone, {exists ? found->second : expected}, 0};
}

std::optional<StoreAnswer> StoreTable::read_when_complete(const StoreRequest& request) const {
  if (first_missing(request, 0) < request.keys.size()) return std::nullopt;
  StoreAnswer answer;
  if (request.op == StoreOp::kWait) return answer;
  size_t bytes = 0;
  for (const std::string& key : request.keys) bytes += values_.at(key).size();
  // One key can be asked for many times over.
  if (bytes > limits_.max_total_bytes)
    return refused(
        format("an answer of {} bytes, at most {} are given", bytes, limits_.max_total_bytes));
  for (const std::string& key : request.keys) answer.texts.push_back(values_.at(key));
  return answer;
}

std::optional<StoreAnswer> StoreTable::apply(const StoreRequest& request) {
  if (auto refusal = refuse_if_over_limit(request)) return refusal;
  switch (request.op) {
    case StoreOp::kSet:
      for (size_t i = 0; i < request.keys.size(); ++i) assign(request.keys[i], request.values[i]);
      return StoreAnswer{};
    case StoreOp::kAppend: {
      const auto found = values_.find(request.keys[0]);
      std::string value = (found == values_.end() ? "" : found->second) + request.values[0];
      if (value.size() > limits_.max_value_bytes) {
        return refused(format("key '{}' would grow to {} bytes", request.keys[0], value.size()));
      }
      assign(request.keys[0], std::move(value));
      return StoreAnswer{};
    }
    case StoreOp::kGet:
    case StoreOp::kWait:
      return read_when_complete(request);
    case StoreOp::kAdd:
      return add(request);
    case StoreOp::kCompareSet:
      return compare_set(request);
    case StoreOp::kCheck:
      return StoreAnswer{
          StoreStatus::kDone, {}, first_missing(request, 0) == request.keys.size() ? 1 : 0};
    case StoreOp::kRemove: {
      const auto found = values_.find(request.keys[0]);
      if (found == values_.end()) return StoreAnswer{};
      total_bytes_ -= found->first.size() + found->second.size();
      values_.erase(found);
      return StoreAnswer{StoreStatus::kDone, {}, 1};
    }
    case StoreOp::kRemoveUnder: {
      const size_t removed = std::erase_if(values_, [&](const auto& each) {
        if (!each.first.starts_with(request.keys[0])) return false;
        total_bytes_ -= each.first.size() + each.second.size();
        return true;
      });
      return StoreAnswer{StoreStatus::kDone, {}, static_cast<int64_t>(removed)};
    }
    case StoreOp::kCount:
      return StoreAnswer{StoreStatus::kDone, {}, static_cast<int64_t>(values_.size())};
    case StoreOp::kWill:
      return StoreAnswer{};  // the connection keeps it
  }
  return refused("an operation this store does not know");
}

size_t StoreTable::first_missing(const StoreRequest& request, size_t start) const {
  size_t index = start;
  while (index < request.keys.size() && values_.contains(request.keys[index])) ++index;
  return index;
}

StoreAnswer StoreTable::timed_out(const StoreRequest& request) const {
  StoreAnswer answer{StoreStatus::kTimeout, {}, 0};
  for (const std::string& key : request.keys) {
    if (values_.contains(key)) continue;
    ++answer.number;
    if (answer.texts.size() < kMaxNamedKeys) answer.texts.push_back(key);
  }
  return answer;
}

}  // namespace shoal::cluster
