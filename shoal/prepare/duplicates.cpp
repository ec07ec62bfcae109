#include "shoal/prepare/duplicates.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/format.h"

namespace shoal::prepare {
namespace {

namespace fs = std::filesystem;

struct Occurrence {
  Hash128 hash;
  uint64_t part;
  uint64_t document;

  bool operator<(const Occurrence& other) const {
    return std::tie(hash.high, hash.low, part, document) <
           std::tie(other.hash.high, other.hash.low, other.part, other.document);
  }
};

static_assert(sizeof(Hash128) == 16);

template <class Use>
void for_each_hash(const fs::path& path, Use use) {
  ChunkReader reader(path);
  uint64_t document = 0;
  for (std::string chunk = reader.next(1 << 20); !chunk.empty(); chunk = reader.next(1 << 20)) {
    if (chunk.size() % sizeof(Hash128) != 0)
      throw DataError(format("{} ends within a hash: remove it", path.string()));
    for (size_t at = 0; at < chunk.size(); at += sizeof(Hash128)) {
      Hash128 hash;
      std::memcpy(&hash, chunk.data() + at, sizeof hash);
      use(document++, hash);
    }
  }
}

}  // namespace

std::string hashes_file(uint64_t part) { return format("part-{:05}.hashes", part); }

void write_hashes(const fs::path& directory, uint64_t part, const std::vector<Hash128>& hashes) {
  write_file_atomically(
      directory / hashes_file(part),
      {reinterpret_cast<const char*>(hashes.data()), hashes.size() * sizeof(Hash128)});
}

DuplicatesByPart find_duplicates(const fs::path& directory,
                                 uint64_t parts,
                                 const std::vector<uint64_t>& wanted,
                                 size_t max_bytes) {
  uint64_t documents = 0;
  DuplicatesByPart duplicates;
  for (uint64_t part = 0; part < parts; ++part) {
    const uint64_t count = fs::file_size(directory / hashes_file(part)) / sizeof(Hash128);
    if (std::find(wanted.begin(), wanted.end(), part) != wanted.end())
      duplicates[part] = Duplicates(count);
    documents += count;
  }
  const uint64_t rounds = documents * sizeof(Occurrence) / max_bytes + 1;
  std::vector<Occurrence> found;
  for (uint64_t round = 0; round < rounds; ++round) {
    found.clear();
    for (uint64_t part = 0; part < parts; ++part) {
      for_each_hash(directory / hashes_file(part), [&](uint64_t document, const Hash128& hash) {
        if (hash.low % rounds == round) found.push_back({hash, part, document});
      });
    }
    std::sort(found.begin(), found.end());
    for (size_t at = 1; at < found.size(); ++at) {
      if (!(found[at].hash == found[at - 1].hash)) continue;
      const auto part = duplicates.find(found[at].part);
      if (part != duplicates.end()) part->second[found[at].document] = true;
    }
  }
  return duplicates;
}

}  // namespace shoal::prepare
