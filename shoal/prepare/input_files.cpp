#include "shoal/prepare/input_files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include <dlfcn.h>
#include <glob.h>

#include <arrow/filesystem/filesystem.h>
#include <arrow/filesystem/localfs.h>
#include <arrow/io/interfaces.h>

#include "shoal/prepare/arrow_errors.h"

namespace shoal::prepare {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKnown =
    ".txt .text .md, .jsonl .ndjson .json (each also with .gz or .zst), .parquet, .arrow, "
    ".bin .idx .npy";

struct Kind {
  InputKind kind;
  Compression compression;
};

std::optional<Kind> kind_of(std::string_view path) {
  static const std::map<std::string, InputKind, std::less<>> kinds = {
      {".txt", InputKind::kText},        {".text", InputKind::kText},
      {".md", InputKind::kText},         {".jsonl", InputKind::kJsonl},
      {".ndjson", InputKind::kJsonl},    {".json", InputKind::kJsonl},
      {".parquet", InputKind::kParquet}, {".arrow", InputKind::kArrow},
      {".bin", InputKind::kTokens},      {".idx", InputKind::kTokens},
      {".npy", InputKind::kTokens}};
  fs::path name = fs::path(path).filename();
  Compression compression = Compression::kNone;
  if (name.extension() == ".gz") compression = Compression::kGzip;
  if (name.extension() == ".zst" || name.extension() == ".zstd") compression = Compression::kZstd;
  if (compression != Compression::kNone) name = name.stem();
  const auto found = kinds.find(name.extension().string());
  if (found == kinds.end()) return std::nullopt;
  const bool streams = found->second == InputKind::kText || found->second == InputKind::kJsonl;
  if (compression != Compression::kNone && !streams) return std::nullopt;
  return Kind{found->second, compression};
}

// What other programs put beside the data: never input when found in a directory.
bool is_beside_data(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with(".") || name.starts_with("cache-") || name == "state.json" ||
         name == "dataset_info.json" || name == "dataset_dict.json" || name.ends_with(".idx");
}

bool is_in(const fs::path& path, const fs::path& directory) {
  return std::mismatch(directory.begin(), directory.end(), path.begin(), path.end()).first ==
         directory.end();
}

// Arrow keeps S3 in a library beside its own and loads it when told to.
void load_s3() {
  static const bool loaded = [] {
    Dl_info info{};
    if (::dladdr(reinterpret_cast<const void*>(&arrow::fs::LoadFileSystemFactories), &info) == 0)
      throw BugError("libarrow is not a shared library");
    const fs::path library = info.dli_fname;
    const std::string suffix = library.filename().string().substr(std::string("libarrow").size());
    const fs::path s3 = library.parent_path() / ("libarrow_s3" + suffix);
    must(arrow::fs::LoadFileSystemFactories(s3.c_str()), format("loading {}", s3.string()));
    return true;
  }();
  (void)loaded;
}

// s3://KEY:SECRET@bucket is allowed, but must not reach logs; nor what stands behind a question mark. A
// secret with a slash in it should have been escaped, and is no less secret when it was not.
std::string without_secret(const std::string& uri) {
  std::string shown = uri.substr(0, uri.find('?'));
  const size_t scheme = shown.find("://");
  if (scheme == std::string::npos) return uri;
  const size_t host = scheme + 3;
  const size_t first_at = shown.find('@', host);
  if (first_at == std::string::npos) return shown;
  const bool has_secret = shown.find(':', host) < std::min(first_at, shown.find('/', host));
  const size_t at = has_secret ? shown.rfind('@') : first_at;
  if (!has_secret && at > shown.find('/', host)) return shown;  // part of a file's name
  return shown.substr(0, host) + shown.substr(at + 1);
}

// Arrow repeats the address that it does not understand.
std::string without_secret(std::string message, const std::string& uri, const std::string& shown) {
  for (size_t at = 0; (at = message.find(uri, at)) != std::string::npos; at += shown.size())
    message.replace(at, uri.size(), shown);
  return message;
}

class InputFinder {
 public:
  explicit InputFinder(const fs::path& output) : output_(fs::weakly_canonical(output)) {}

  void add(const std::string& word) {
    const size_t before = files_.size();
    if (word.find("://") != std::string::npos) {
      add_uri(word);
    } else {
      add_local(word);
    }
    if (files_.size() == before)
      throw UsageError(
          format("--input {} holds no file that shoal can read: {}", without_secret(word), kKnown));
  }

  std::vector<InputFile> take() {
    join_pairs();
    return std::move(files_);
  }

 private:
  void add_uri(const std::string& uri) {
    const std::string shown = without_secret(uri);
    if (uri.starts_with("s3://")) load_s3();
    std::string path;
    auto system = arrow::fs::FileSystemFromUri(uri, &path);
    if (!system.ok())
      throw UsageError(
          format("--input {}: {}", shown, without_secret(system.status().message(), uri, shown)));
    add_path(*system, path, shown.substr(0, shown.size() - std::min(shown.size(), path.size())));
  }

  void add_local(const std::string& word) {
    std::vector<std::string> paths = {word};
    if (!fs::exists(word)) {
      paths = glob(word);
      std::erase_if(paths,
                    [&](const fs::path& path) { return fs::weakly_canonical(path) == output_; });
      if (std::any_of(paths.begin(), paths.end(),
                      [&](const fs::path& path) { return could_be_output(path); }))
        refuse_output_in(word);
    }
    const auto system = std::make_shared<arrow::fs::LocalFileSystem>();
    for (const std::string& path : paths) add_path(system, path, "");
  }

  // A file beside what this preparation writes, of a kind that it writes.
  [[nodiscard]] bool could_be_output(const fs::path& path) const {
    const bool written = path.extension() == ".json" || path.extension() == ".arrow";
    return written && is_in(fs::weakly_canonical(path), output_);
  }

  [[noreturn]] void refuse_output_in(const std::string& input) const {
    throw UsageError(
        format("--input {} holds --output {}, whose files would be input when the command is given "
               "again: name a directory outside of the input",
               input, output_.string()));
  }

  static std::vector<std::string> glob(const std::string& pattern) {
    glob_t found{};
    std::vector<std::string> paths;
    if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
      paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
    if (paths.empty()) throw UsageError(format("--input {}: there is no such file", pattern));
    return paths;
  }

  void add_path(const std::shared_ptr<arrow::fs::FileSystem>& system,
                const std::string& path,
                const std::string& prefix) {
    const auto info = system->GetFileInfo(path);
    if (!info.ok() || info->type() == arrow::fs::FileType::NotFound)
      throw UsageError(format("--input {}{}: {}", prefix, path,
                              info.ok() ? "there is no such file" : info.status().message()));
    if (info->IsFile()) {
      add_file(system, *info, prefix, /*must_be_known=*/true);
      return;
    }
    std::optional<fs::path> local;
    if (system->type_name() == "local") local = fs::weakly_canonical(path);
    if (local && is_in(*local, output_)) refuse_output_in(prefix + path);
    arrow::fs::FileSelector selector;
    selector.base_dir = path;
    selector.recursive = true;
    auto infos = must(system->GetFileInfo(selector), format("listing {}{}", prefix, path));
    std::sort(infos.begin(), infos.end(),
              [](const auto& a, const auto& b) { return a.path() < b.path(); });
    for (const arrow::fs::FileInfo& file : infos) {
      if (!file.IsFile() || is_beside_data(file.path())) continue;
      // What this preparation has written before it was killed is none of its input.
      if (local && is_in(*local / fs::path(file.path()).lexically_relative(path), output_))
        continue;
      add_file(system, file, prefix, false);
    }
  }

  void add_file(const std::shared_ptr<arrow::fs::FileSystem>& system,
                const arrow::fs::FileInfo& info,
                const std::string& prefix,
                bool must_be_known) {
    const std::optional<Kind> kind = kind_of(info.path());
    if (!kind) {
      if (!must_be_known) return;
      throw UsageError(format("--input {}{}: the name does not tell what it is; known are {}",
                              prefix, info.path(), kKnown));
    }
    files_.push_back({.name = prefix + info.path(),
                      .file_system = system,
                      .path = info.path(),
                      .bytes = static_cast<uint64_t>(std::max<int64_t>(0, info.size())),
                      .kind = kind->kind,
                      .compression = kind->compression});
  }

  // An index stands for the ids beside it, unless they are among the files already: a glob finds both.
  void join_pairs() {
    std::set<std::string> names;
    for (const InputFile& file : files_) names.insert(file.name);
    std::vector<InputFile> joined;
    for (InputFile& file : files_) {
      if (file.path.ends_with(".idx")) {
        file.name = ids_beside(file.name);
        file.path = ids_beside(file.path);
        if (!names.insert(file.name).second) continue;
        const auto info = must(file.file_system->GetFileInfo(file.path), file.name);
        if (!info.IsFile())
          throw UsageError(format("--input {}: there is no such file, only its index", file.name));
        file.bytes = static_cast<uint64_t>(std::max<int64_t>(0, info.size()));
      }
      joined.push_back(std::move(file));
    }
    files_ = std::move(joined);
  }

  static std::string ids_beside(const std::string& index) {
    return index.substr(0, index.size() - std::string_view(".idx").size()) + ".bin";
  }

  const fs::path output_;
  std::vector<InputFile> files_;
};

}  // namespace

bool InputFile::is_local() const { return file_system->type_name() == "local"; }

std::vector<InputFile> find_inputs(const std::vector<std::string>& words, const fs::path& output) {
  InputFinder finder(output);
  for (const std::string& word : words) finder.add(word);
  return finder.take();
}

std::shared_ptr<arrow::io::RandomAccessFile> open_input(const InputFile& file) {
  return must(file.file_system->OpenInputFile(file.path), format("opening {}", file.name));
}

FileSystems::~FileSystems() { arrow::fs::EnsureFinalized(); }

}  // namespace shoal::prepare
