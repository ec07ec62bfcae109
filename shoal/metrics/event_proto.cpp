#include "shoal/metrics/event_proto.h"

#include <bit>
#include <cstddef>

#include "shoal/core/checksum.h"

namespace shoal::metrics {
namespace {

// The numbers that the fields have in event.proto, summary.proto and tensor.proto.
enum class EventField { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7 };
enum class SessionLogField { kStatus = 1 };
enum class SummaryField { kValue = 1 };
enum class ValueField { kTag = 1, kSimpleValue = 2, kTensor = 8, kMetadata = 9 };
enum class MetadataField { kPluginData = 1, kDescription = 3 };
enum class PluginDataField { kName = 1 };
enum class TensorField { kType = 1, kShape = 2, kStrings = 8 };

constexpr uint64_t kStatusStart = 1;
constexpr uint64_t kTypeString = 7;

enum class Wire : uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

template <class Whole>
std::string little_endian(Whole value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(Whole); ++i) {
    bytes += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  }
  return bytes;
}

// A message under construction. Field is the enum of its fields.
template <class Field>
class Message {
 public:
  Message& varint(Field field, uint64_t value) {
    key(field, Wire::kVarint);
    append_varint(value);
    return *this;
  }

  Message& fixed(Field field, double value) {
    key(field, Wire::kFixed64);
    bytes_ += little_endian(std::bit_cast<uint64_t>(value));
    return *this;
  }

  Message& fixed(Field field, float value) {
    key(field, Wire::kFixed32);
    bytes_ += little_endian(std::bit_cast<uint32_t>(value));
    return *this;
  }

  Message& bytes(Field field, std::string_view value) {  // text and messages too
    key(field, Wire::kBytes);
    append_varint(value.size());
    bytes_ += value;
    return *this;
  }

  [[nodiscard]] const std::string& encoded() const { return bytes_; }

 private:
  void key(Field field, Wire wire) {
    append_varint(static_cast<uint64_t>(field) << 3U | static_cast<uint64_t>(wire));
  }

  void append_varint(uint64_t value) {  // seven bits a byte, the lowest first
    for (; value >= 0x80; value >>= 7U) bytes_ += static_cast<char>((value & 0x7fU) | 0x80U);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

Message<EventField> event(double wall_time, int64_t step) {
  Message<EventField> message;
  message.fixed(EventField::kWallTime, wall_time);
  message.varint(EventField::kStep, static_cast<uint64_t>(step));
  return message;
}

std::string metadata(std::string_view plugin, std::string_view description) {
  Message<PluginDataField> plugin_data;
  plugin_data.bytes(PluginDataField::kName, plugin);
  Message<MetadataField> message;
  message.bytes(MetadataField::kPluginData, plugin_data.encoded());
  if (!description.empty()) message.bytes(MetadataField::kDescription, description);
  return message.encoded();
}

}  // namespace

std::string file_version_event(double wall_time) {
  return event(wall_time, 0).bytes(EventField::kFileVersion, "brain.Event:2").encoded();
}

std::string session_start_event(double wall_time, int64_t step) {
  Message<SessionLogField> log;
  log.varint(SessionLogField::kStatus, kStatusStart);
  return event(wall_time, step).bytes(EventField::kSessionLog, log.encoded()).encoded();
}

std::string scalars_event(double wall_time, int64_t step, const std::vector<Scalar>& scalars) {
  Message<SummaryField> summary;
  for (const Scalar& scalar : scalars) {
    Message<ValueField> value;
    value.bytes(ValueField::kTag, scalar.tag).fixed(ValueField::kSimpleValue, scalar.value);
    if (!scalar.description.empty()) {
      value.bytes(ValueField::kMetadata, metadata("scalars", scalar.description));
    }
    summary.bytes(SummaryField::kValue, value.encoded());
  }
  return event(wall_time, step).bytes(EventField::kSummary, summary.encoded()).encoded();
}

std::string text_event(double wall_time,
                       int64_t step,
                       std::string_view tag,
                       std::string_view text) {
  Message<TensorField> tensor;  // without dimensions: one text
  tensor.varint(TensorField::kType, kTypeString)
      .bytes(TensorField::kShape, "")
      .bytes(TensorField::kStrings, text);
  Message<ValueField> value;
  value.bytes(ValueField::kTag, tag)
      .bytes(ValueField::kMetadata, metadata("text", ""))
      .bytes(ValueField::kTensor, tensor.encoded());
  Message<SummaryField> summary;
  summary.bytes(SummaryField::kValue, value.encoded());
  return event(wall_time, step).bytes(EventField::kSummary, summary.encoded()).encoded();
}

std::string framed(std::string_view payload) {
  // TFRecord masks its checksums, because a CRC over bytes that contain their own CRC is weak.
  const auto masked_crc = [](std::string_view bytes) {
    return little_endian(std::rotr(crc32c(bytes), 15) + 0xa282ead8U);
  };
  const std::string length = little_endian(static_cast<uint64_t>(payload.size()));
  std::string record = length + masked_crc(length);
  record += payload;
  return record + masked_crc(payload);
}

}  // namespace shoal::metrics
