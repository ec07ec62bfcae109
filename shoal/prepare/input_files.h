// input_files.h -- the files that a preparation reads, and their formats.
//
//   const std::vector<InputFile> inputs =
//       find_inputs({"corpus/*.jsonl.gz", "s3://bucket/books"}, "tokens");
//
// A word is a file, a glob, a directory (everything below it whose kind its name tells), or a URI
// that Arrow understands. The order is that of the words, and by name within each. Megatron's pair
// of files is one input, named by its .bin.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace arrow::fs {
class FileSystem;
}
namespace arrow::io {
class RandomAccessFile;
}

namespace shoal::prepare {

enum class InputKind {
  kText,     // .txt .text .md
  kJsonl,    // .jsonl .ndjson .json
  kParquet,  // .parquet
  kArrow,    // .arrow: IPC file or stream, also as Hugging Face's `datasets` saves it
  kTokens,   // .bin .idx .npy: token files of nanoGPT, llm.c, Megatron, OLMo
};

enum class Compression { kNone, kGzip, kZstd };

struct InputFile {
  std::string name;  // name as the user wrote it, for messages and the identity of a preparation
  std::shared_ptr<arrow::fs::FileSystem> file_system;
  std::string path;  // within the file system
  uint64_t bytes = 0;
  InputKind kind = InputKind::kText;
  Compression compression = Compression::kNone;

  [[nodiscard]] bool is_local() const;
};

// Throws UsageError for a word that matches nothing, for a file whose name tells no kind, and for a
// directory or a glob in which the files of `output` would be found the next time.
std::vector<InputFile> find_inputs(const std::vector<std::string>& words,
                                   const std::filesystem::path& output);

std::shared_ptr<arrow::io::RandomAccessFile> open_input(const InputFile& file);

// Held by the process while it reads, once: S3 keeps threads, and a process that ends before they
// do crashes, also when it ends with an error.
class FileSystems {
 public:
  FileSystems() = default;
  FileSystems(const FileSystems&) = delete;
  FileSystems& operator=(const FileSystems&) = delete;
  ~FileSystems();
};

}  // namespace shoal::prepare
