#include "shoal/metrics/event_proto.h"

#include <gtest/gtest.h>

namespace shoal::metrics {
namespace {

using namespace std::string_literals;

// Protobuf's encoding, done by hand; tensorboard_test.py has its own parser read such bytes.
TEST(EventProto, EncodesAsProtobufDoes) {
  const std::string half = "\x09\x00\x00\x00\x00\x00\x00\xe0\x3f"s;  // 1: 0.5
  EXPECT_EQ(file_version_event(0.5), half + "\x10\x00\x1a\x0d"s + "brain.Event:2");
  EXPECT_EQ(session_start_event(0.5, 300), half + "\x10\xac\x02\x3a\x02\x08\x01"s);
  EXPECT_EQ(scalars_event(0.5, 1, {{"a", -2.0F, ""}}),
            half + "\x10\x01\x2a\x0a\x0a\x08\x0a\x01"s + "a" + "\x15\x00\x00\x00\xc0"s);
}

TEST(EventProto, FramesLikeTfRecord) {
  // The record of an empty payload is the same in every TFRecord file.
  EXPECT_EQ(framed(""), "\x00\x00\x00\x00\x00\x00\x00\x00\x29\x03\x98\x07\xd8\xea\x82\xa2"s);
}

}  // namespace
}  // namespace shoal::metrics
