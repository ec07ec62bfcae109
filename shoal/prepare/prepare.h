// prepare.h -- turns a corpus into token shards.
//
//   Progress progress;
//   prepare({.inputs = {"books/*.jsonl.gz"}, .tokenizer = tokenizer, .output = "tokens"}, progress);
//
// The input is cut into parts, by the sizes of its files alone. A part becomes its shards and a
// file that describes them (data/shards/manifest.h); nothing in them depends on other parts. So
// threads and ranks can share the parts in any way, and a preparation that was killed resumes with
// the parts that are not done: the bytes in the end are the same. Ranks do not communicate; the one
// that finishes last writes the manifest.
//
// Memory does not grow with the corpus: it is a few megabytes per thread and the encoder's cache;
// with `deduplicate` one more bit per document.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/data/documents/document.h"
#include "shoal/data/shards/manifest.h"
#include "shoal/data/tokenizer/tokenizer.h"

namespace shoal::prepare {

// Which documents are for validation.
struct ValidationRule {
  enum class Kind {
    kNone,
    kHash,  // `share` of the documents, by a hash of their content: copies stay together
    kTail,  // the last `share` of the bytes of each text file
  };
  Kind kind = Kind::kHash;
  double share = 0.05;
};

struct PrepareOptions {
  std::vector<std::string> inputs;
  std::shared_ptr<const data::Tokenizer> tokenizer;
  // An existing directory. Hold a RankLock on it where the same rank may be started twice.
  std::filesystem::path output;
  data::TextFields fields;
  std::string separator;  // between documents of text files; empty: a file is one document
  ValidationRule validation;
  std::optional<data::TokenId> end_of_document;  // id appended to each document
  std::vector<uint32_t> pack;                    // sequence lengths to pack documents for
  bool deduplicate = false;                      // keep only the first of equal documents
  uint64_t part_bytes = 0;  // input bytes per part; 0: by the size of all of it
  int threads = 1;
  int rank = 0;
  int world_size = 1;
};

// Counters that other threads may read while prepare() runs.
struct Progress {
  std::atomic<uint64_t> bytes_total = 0;  // bytes of this rank's share, as they are on disk
  std::atomic<uint64_t> bytes_done = 0;
  std::atomic<uint64_t> bytes_found_done = 0;  // bytes of these that an earlier run has done
  std::atomic<uint64_t> tokens = 0;
  std::atomic<bool> hashing = false;  // looking for duplicates, before any token is made
};

// Returns the manifest; nothing when other ranks still have parts to do. Throws UsageError when the
// directory holds a preparation of other input or with other options.
std::optional<data::Manifest> prepare(const PrepareOptions& options, Progress& progress);

}  // namespace shoal::prepare
