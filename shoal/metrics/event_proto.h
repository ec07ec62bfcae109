// event_proto.h -- TensorBoard's events as bytes: the few protobuf messages it needs, and the
// framing of the records they are stored in.
//
//   file.append(framed(scalars_event(now, step, {{.tag = "loss/loss", .value = 4.5F}})));
//
// Written by hand, because libtorch carries protobuf and exports its symbols: a second protobuf in
// the process, of another version, would be mixed up with it. The messages are frozen by years of
// event files, and what is used of them takes a page. Their definitions: tensorboard/compat/proto,
// event.proto and summary.proto.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::metrics {

struct Scalar {
  std::string tag;
  float value = 0;          // the format has single precision only
  std::string description;  // shown beside the chart; needed once per file
};

// The first event of a file; "brain.Event:2" promises that restarts are marked by session_start.
std::string file_version_event(double wall_time);

// An event that voids everything written before with this step or a later one.
std::string session_start_event(double wall_time, int64_t step);

std::string scalars_event(double wall_time, int64_t step, const std::vector<Scalar>& scalars);

std::string text_event(double wall_time, int64_t step, std::string_view tag, std::string_view text);

// Returns a record as TFRecord files hold it: length, checksum of the length, payload, checksum of
// the payload.
std::string framed(std::string_view payload);

}  // namespace shoal::metrics
