// Random damage to a checkpoint of several ranks: bits flipped, files cut, lengthened, swapped, missing, or
// taken from another checkpoint. Every one is found when the checkpoint is opened and read, and its message names
// the file. SHOAL_DAMAGES says how many; CI makes fewer than the number in docs/evidence.md.

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/state/checkpoint.h"
#include "shoal/state/checkpoint_store.h"
#include "shoal/state/checkpoint_writer.h"

#include "tests/state/plain_tensor.h"
#include "tests/support/growth.h"
#include "tests/support/temp_dir.h"

namespace shoal::state {
namespace {

namespace fs = std::filesystem;
using tests::TempDir;

constexpr size_t kMaxFile = size_t{1} << 24;

int damages() {
  const char* const asked = std::getenv("SHOAL_DAMAGES");
  return asked != nullptr ? std::atoi(asked) : tests::is_nightly() ? 4'000 : 500;
}

// Three ranks with odd cuts of odd tensors, one of them above a chunk.
std::vector<PlainTensor> tensors_of(uint64_t seed) {
  Random random(seed);
  return {{{"weights.a", DType::kF32, {31, 17}}, random},
          {{"weights.b", DType::kBf16, {7}}, random},
          {{"first_moment.a", DType::kU8, {3, 349'529}}, random}};  // a byte more than a chunk
}

fs::path save(const fs::path& root, uint64_t step, uint64_t seed) {
  Random random(99);  // the same cuts for every seed
  std::vector<std::vector<Piece>> ranks(3);
  for (const PlainTensor& tensor : tensors_of(seed)) {
    for (const Box& box : some_cuts(tensor.spec.shape, 3, random)) {
      Piece piece = piece_of(tensor, box);
      if (!piece.bytes.empty()) ranks[random() % ranks.size()].push_back(std::move(piece));
    }
  }
  return save_pieces(root, step, ranks, {{"seed", std::to_string(seed)}});
}

// Everything a run reads when it goes on.
void load(const fs::path& path, const std::vector<PlainTensor>& expected) {
  const Checkpoint checkpoint(path);
  for (const PlainTensor& tensor : expected) {
    std::vector<std::byte> bytes(tensor.bytes.size());
    checkpoint.read(tensor.spec.name, bytes);
    ASSERT_EQ(bytes, tensor.bytes) << "loaded, and wrong";
  }
}

class Damage {
 public:
  Damage(fs::path path, fs::path other) : path_(std::move(path)), other_(std::move(other)) {
    for (const auto& entry : fs::directory_iterator(path_)) {
      const std::string name = entry.path().filename().string();
      names_.push_back(name);
      contents_[name] = read_file(entry.path(), kMaxFile);
    }
    std::sort(names_.begin(), names_.end());
  }

  // What was done, to which file; undo() mends it.
  std::string inflict(Random& random) {
    damaged_ = names_[random() % names_.size()];
    std::string bytes = contents_[damaged_];
    switch (random() % 8) {
      case 0:
        bytes.resize(random() % bytes.size());
        return put(bytes, "cut to " + std::to_string(bytes.size()));
      case 1:
        bytes += std::string(1 + random() % 5000, static_cast<char>(random()));
        return put(bytes, "lengthened");
      case 2: {
        fs::remove(path_ / damaged_);
        return damaged_ + " removed";
      }
      case 3: {
        also_ = names_[random() % names_.size()];
        if (also_ == damaged_ || contents_[also_] == bytes) return inflict(random);
        fs::rename(path_ / damaged_, path_ / "x");
        fs::rename(path_ / also_, path_ / damaged_);
        fs::rename(path_ / "x", path_ / also_);
        return damaged_ + " swapped with " + also_;
      }
      case 4: {
        // The file of another step's checkpoint, where every file has the same name and size. Its
        // manifest fits its own files only.
        if (damaged_ == kCheckpointManifest) return inflict(random);
        fs::copy_file(other_ / damaged_, path_ / damaged_, fs::copy_options::overwrite_existing);
        return damaged_ + " of another step";
      }
      case 5: {
        const size_t at = random() % bytes.size() / 4096 * 4096;
        const size_t count = std::min<size_t>(4096, bytes.size() - at);
        if (bytes.compare(at, count, std::string(count, '\0')) == 0) return inflict(random);
        bytes.replace(at, count, count, '\0');
        return put(bytes, "page of zeros at " + std::to_string(at));
      }
      default: {
        const size_t at = random() % bytes.size();
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << (random() % 8)));
        return put(bytes, "bit flipped at " + std::to_string(at));
      }
    }
  }

  void undo() {
    for (const std::string& name : {damaged_, also_}) {
      if (name.empty()) continue;
      std::ofstream(path_ / name, std::ios::binary | std::ios::trunc) << contents_[name];
    }
    also_.clear();
  }

  // Files that were touched.
  [[nodiscard]] bool is_named_in(const std::string& text) const {
    return text.find(damaged_) != std::string::npos ||
           (!also_.empty() && text.find(also_) != std::string::npos);
  }

 private:
  std::string put(const std::string& bytes, const std::string& what) {
    std::ofstream(path_ / damaged_, std::ios::binary | std::ios::trunc) << bytes;
    return damaged_ + " " + what;
  }

  fs::path path_;
  fs::path other_;
  std::vector<std::string> names_;
  std::map<std::string, std::string> contents_;
  std::string damaged_;
  std::string also_;
};

TEST(Damage, IsAlwaysFoundAndNamed) {
  const TempDir dir;
  const fs::path path = save(dir.path(), 2, 5);
  const fs::path other = save(dir.path(), 1, 6);
  const std::vector<PlainTensor> expected = tensors_of(5);
  load(path, expected);
  Damage damage(path, other);
  Random random(2026);
  int found = 0;
  for (int i = 0; i < damages(); ++i) {
    const std::string what = damage.inflict(random);
    try {
      load(path, expected);
      ADD_FAILURE() << what << ": not found";
    } catch (const DataError& error) {
      ++found;
      EXPECT_TRUE(damage.is_named_in(error.what())) << what << ": " << error.what();
    }
    damage.undo();
    ASSERT_FALSE(HasFailure());
  }
  load(path, expected);
  std::cout << found << " of " << damages() << " damages found and named\n";
}

}  // namespace
}  // namespace shoal::state
