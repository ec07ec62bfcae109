#include "shoal/prepare/prepare.h"

#include <functional>
#include <thread>

#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/core/quantities.h"
#include "shoal/core/threads.h"
#include "shoal/prepare/input_plan.h"
#include "shoal/prepare/part_writer.h"

namespace shoal::prepare {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIdentityFile = "preparation.json";

// All threads take parts until there are none; an error stops them all.
void for_each_part(const std::vector<uint64_t>& parts,
                   int threads,
                   const std::function<std::function<void(uint64_t)>()>& make_worker) {
  std::atomic<size_t> next = 0;
  run_on_threads(threads, [&](int) {
    try {
      const std::function<void(uint64_t)> do_part = make_worker();
      for (size_t at = next++; at < parts.size(); at = next++) do_part(parts[at]);
    } catch (...) {
      next = parts.size();
      throw;
    }
  });
}

class Preparation {
 public:
  Preparation(const PrepareOptions& options, Progress& progress)
      : options_(options), progress_(progress), plan_(plan_input(options)) {
    claim_directory();
    remove_leftovers();
    for (uint64_t number = 0; number < plan_.parts.size(); ++number) {
      if (!is_mine(number)) continue;
      const uint64_t bytes = plan_.parts[number].bytes;
      progress_.bytes_total += bytes;
      if (read_done(number)) {
        progress_.bytes_done += bytes;
        progress_.bytes_found_done += bytes;
      } else {
        mine_.push_back(number);
      }
    }
  }

  std::optional<data::Manifest> run() {
    if (options_.deduplicate) find_duplicates_of_mine();
    for_each_part(mine_, options_.threads, [this] {
      const auto encoder = std::make_shared<data::Encoder>(options_.tokenizer);
      return [this, encoder](uint64_t number) { write_one(number, *encoder); };
    });
    return finish();
  }

 private:
  // One directory, one preparation: shards of two would look alike and not belong together.
  void claim_directory() {
    const fs::path path = options_.output / kIdentityFile;
    if (create_file_once(path, plan_.identity)) return;
    if (read_file(path, 1 << 20) == plan_.identity) return;
    throw UsageError(
        format("{} holds a preparation of other files, with another tokenizer or other options, or "
               "by another version of shoal: compare {}, remove the directory, or name another",
               options_.output.string(), path.string()));
  }

  [[nodiscard]] bool is_mine(uint64_t number) const {
    return number % static_cast<uint64_t>(options_.world_size) ==
           static_cast<uint64_t>(options_.rank);
  }

  // What a killed run had begun to write. Only files of parts that are this rank's, or that no other
  // rank can be writing. (Shards were once written as NAME.unfinished.)
  void remove_leftovers() const {
    for (const auto& entry : fs::directory_iterator(options_.output)) {
      const std::string name = entry.path().filename().string();
      if (name.find(".tmp-") == std::string::npos && !name.ends_with(".unfinished")) continue;
      const size_t digits = name.find_first_of("0123456789");
      const bool of_a_part = digits != std::string::npos && digits > 0 && name[digits - 1] == '-' &&
                             !name.starts_with(kIdentityFile) &&
                             !name.starts_with(data::kManifestFile);
      if (of_a_part ? is_mine(std::strtoull(name.c_str() + digits, nullptr, 10))
                    : options_.world_size == 1)
        fs::remove(entry.path());
    }
  }

  [[nodiscard]] std::optional<data::PartFile> read_done(uint64_t number) const {
    const fs::path path = options_.output / data::part_file(number);
    if (!fs::exists(path)) return std::nullopt;
    data::PartFile file = data::read_part(path);
    for (const data::Split split : data::kSplits) {
      const std::optional<data::Shard>& shard = file.part.of(split);
      if (!shard) continue;
      std::error_code missing;
      const uint64_t bytes = fs::file_size(options_.output / shard->file, missing);
      if (missing || bytes != shard->bytes) return std::nullopt;
    }
    return file;
  }

  [[nodiscard]] bool all_done() const {
    if (!mine_.empty()) return false;
    for (uint64_t number = 0; number < plan_.parts.size(); ++number) {
      if (!read_done(number)) return false;
    }
    return true;
  }

  void write_one(uint64_t number, data::Encoder& encoder) {
    const data::PreparedPart part =
        write_part(plan_, number, options_, duplicates_, encoder, progress_);
    write_file_atomically(options_.output / data::part_file(number), data::to_json(part));
  }

  // Mine, and those in which documents begin that go on in mine.
  [[nodiscard]] std::vector<uint64_t> parts_to_judge() const {
    std::vector<uint64_t> parts = mine_;
    for (const uint64_t number : mine_) {
      for (const InputSlice& slice : plan_.parts[number].slices) {
        if (continues(slice)) parts.push_back(*slice.document_part);
      }
    }
    return parts;
  }

  // Also when all of mine are done: their documents may come before copies in parts of other ranks,
  // which wait for the hashes.
  void find_duplicates_of_mine() {
    if (all_done()) return;
    progress_.hashing = true;
    std::vector<uint64_t> unhashed;
    for (uint64_t number = 0; number < plan_.parts.size(); ++number) {
      if (is_mine(number) && !fs::exists(options_.output / hashes_file(number)))
        unhashed.push_back(number);
    }
    const uint64_t before = progress_.bytes_done;
    for_each_part(unhashed, options_.threads, [this] {
      return [this](uint64_t number) {
        write_hashes(options_.output, number, hash_part(plan_, number, options_, progress_));
      };
    });
    if (!mine_.empty()) {
      await_hashes();
      duplicates_ = find_duplicates(options_.output, plan_.parts.size(), parts_to_judge());
    }
    progress_.bytes_done = before;
    progress_.hashing = false;
  }

  // Other ranks' hashes appear as files, on a file system that may tell nobody: this has to look.
  void await_hashes() const {
    constexpr auto kPatience = std::chrono::minutes(30);  // without any new file
    auto changed = Clock::now();
    for (uint64_t number = 0; number < plan_.parts.size();) {
      if (fs::exists(options_.output / hashes_file(number))) {
        ++number;
        changed = Clock::now();
        continue;
      }
      if (Clock::now() - changed > kPatience) {
        throw PeerLost(
            format("rank {} waits for {}, which rank {} has to write, and nothing came "
                   "for 30 minutes: start the ranks again, they go on from here",
                   options_.rank, (options_.output / hashes_file(number)).string(),
                   number % static_cast<uint64_t>(options_.world_size)));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  // Whoever comes here last finds all parts done.
  std::optional<data::Manifest> finish() {
    data::ManifestBuilder builder(layout_of(options_));
    for (uint64_t number = 0; number < plan_.parts.size(); ++number) {
      const std::optional<data::PartFile> done = read_done(number);
      if (!done) return std::nullopt;
      builder.add(number, *done);
    }
    const fs::path path = options_.output / data::kManifestFile;
    const std::string json = data::to_json(builder.manifest());
    write_file_atomically(path, json);
    for (uint64_t number = 0; number < plan_.parts.size(); ++number) {
      std::error_code not_there;
      fs::remove(options_.output / hashes_file(number), not_there);
    }
    return data::manifest_from_json(json, path.string());
  }

  const PrepareOptions& options_;
  Progress& progress_;
  const InputPlan plan_;
  std::vector<uint64_t> mine_;  // not done yet
  DuplicatesByPart duplicates_;
};

}  // namespace

std::optional<data::Manifest> prepare(const PrepareOptions& options, Progress& progress) {
  return Preparation(options, progress).run();
}

}  // namespace shoal::prepare
