#include "shoal/cluster/store_protocol.h"

#include <algorithm>

#include "shoal/cluster/wire.h"

namespace shoal::cluster {
namespace {

bool has_right_shape(const StoreRequest& request) {
  const size_t keys = request.keys.size();
  const size_t values = request.values.size();
  switch (request.op) {
    case StoreOp::kSet:
      return keys == values;
    case StoreOp::kAppend:
    case StoreOp::kWill:
      return keys == 1 && values == 1;
    case StoreOp::kGet:
    case StoreOp::kWait:
    case StoreOp::kCheck:
      return values == 0;
    case StoreOp::kAdd:
    case StoreOp::kRemove:
    case StoreOp::kRemoveUnder:
      return keys == 1 && values == 0;
    case StoreOp::kCompareSet:
      return keys == 1 && values == 2;
    case StoreOp::kCount:
      return keys == 0 && values == 0;
  }
  return false;
}

bool names_missing_keys(const StoreAnswer& answer, const StoreRequest& request) {
  const auto asked_for = [&](const std::string& key) {
    return std::find(request.keys.begin(), request.keys.end(), key) != request.keys.end();
  };
  const auto num_keys = static_cast<int64_t>(request.keys.size());
  return (request.op == StoreOp::kGet || request.op == StoreOp::kWait) && answer.number >= 1 &&
         answer.number <= num_keys && answer.texts.size() <= kMaxNamedKeys &&
         static_cast<int64_t>(answer.texts.size()) <= answer.number &&
         std::all_of(answer.texts.begin(), answer.texts.end(), asked_for);
}

}  // namespace

std::string client_proof(const Secret& secret,
                         std::string_view server_nonce,
                         std::string_view client_nonce) {
  return secret.mac({"shoal store client", server_nonce, client_nonce});
}

std::string server_proof(const Secret& secret,
                         std::string_view server_nonce,
                         std::string_view client_nonce) {
  return secret.mac({"shoal store server", client_nonce, server_nonce});
}

std::string StoreRequest::encode() const {
  WireWriter writer;
  writer.put_byte(static_cast<uint8_t>(op));
  writer.put_texts(keys);
  writer.put_texts(values);
  writer.put_i64(number);
  writer.put_i64(patience.count());
  return writer.bytes();
}

std::optional<StoreRequest> StoreRequest::decode(std::string_view message) {
  WireReader reader(message);
  StoreRequest request;
  request.op = static_cast<StoreOp>(reader.take_byte());
  request.keys = reader.take_texts();
  request.values = reader.take_texts();
  request.number = reader.take_i64();
  request.patience = Duration(reader.take_i64());
  if (!reader.finished() || !has_right_shape(request)) return std::nullopt;
  return request;
}

std::string StoreAnswer::encode() const {
  WireWriter writer;
  writer.put_byte(static_cast<uint8_t>(status));
  writer.put_texts(texts);
  writer.put_i64(number);
  return writer.bytes();
}

std::optional<StoreAnswer> StoreAnswer::decode(std::string_view message) {
  WireReader reader(message);
  StoreAnswer answer;
  answer.status = static_cast<StoreStatus>(reader.take_byte());
  answer.texts = reader.take_texts();
  answer.number = reader.take_i64();
  if (!reader.finished() || answer.status > StoreStatus::kRefused) return std::nullopt;
  return answer;
}

bool StoreAnswer::fits(const StoreRequest& request) const {
  if (status == StoreStatus::kTimeout) return names_missing_keys(*this, request);
  if (status == StoreStatus::kRefused) return texts.size() == 1;
  switch (request.op) {
    case StoreOp::kSet:
    case StoreOp::kAppend:
    case StoreOp::kWill:
    case StoreOp::kWait:
    case StoreOp::kAdd:
      return texts.empty();
    case StoreOp::kGet:
      return texts.size() == request.keys.size();
    case StoreOp::kCompareSet:
      return texts.size() == 1;
    case StoreOp::kCheck:
    case StoreOp::kRemove:
      return texts.empty() && (number == 0 || number == 1);
    case StoreOp::kCount:
    case StoreOp::kRemoveUnder:
      return texts.empty() && number >= 0;
  }
  return false;
}

}  // namespace shoal::cluster
