// input_stream.h -- the bytes of an input file, from a place on, decompressed.
#pragma once

#include <memory>

#include "shoal/data/documents/document.h"
#include "shoal/prepare/input_files.h"

namespace shoal::prepare {

class InputStream : public data::ByteStream {
 public:
  [[nodiscard]] virtual uint64_t position() const = 0;  // position in the file on disk
};

// Opens bytes [begin, end) of the file; a compressed file is read from its beginning only.
std::unique_ptr<InputStream> open_stream(const InputFile& file, uint64_t begin, uint64_t end);

}  // namespace shoal::prepare
