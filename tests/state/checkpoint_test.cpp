#include "shoal/state/checkpoint.h"

#include <algorithm>
#include <array>
#include <fstream>

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/checksum.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
#include "shoal/state/checkpoint_writer.h"
#include "shoal/state/safetensors.h"

#include "tests/state/plain_tensor.h"
#include "tests/support/error_text.h"
#include "tests/support/temp_dir.h"

namespace shoal::state {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tests::error_text;
using tests::TempDir;

std::vector<std::byte> read_back(const Checkpoint& checkpoint, const TensorSpec& spec) {
  std::vector<std::byte> out(tensor_bytes(spec.dtype, spec.shape), std::byte{0x55});
  checkpoint.read(spec.name, out);
  return out;
}

std::vector<PlainTensor> odd_tensors(Random& random) {
  const std::vector<TensorSpec> specs = {
      {"scalar", DType::kF64, {}},     {"one", DType::kF32, {1}},
      {"empty", DType::kBf16, {3, 0}}, {"prime", DType::kF16, {17}},
      {"é \"\n", DType::kU8, {5, 3}},  {"deep", DType::kI32, {2, 1, 3, 1, 5}},
      {"flag", DType::kBool, {11, 7}}, {"wide", DType::kBf16, {3, 1031}},
  };
  std::vector<PlainTensor> tensors;
  for (const TensorSpec& spec : specs) tensors.emplace_back(spec, random);
  return tensors;
}

TEST(Checkpoint, ReadsBackOddTensorsAndValues) {
  const TempDir dir;
  Random random(3);
  const std::vector<PlainTensor> tensors = odd_tensors(random);
  const Values values = {{"config", "a: \"1\"\n\tb: {}\n"}, {"é", ""}, {"", std::string("\0x", 2)}};
  std::vector<Piece> pieces;
  for (const PlainTensor& tensor : tensors) pieces.push_back(whole_piece(tensor));
  const fs::path path = save_pieces(dir / "deep/root", 200, {pieces}, values);
  EXPECT_EQ(path, dir / "deep/root" / "step-000000200");

  const Checkpoint checkpoint(path);
  EXPECT_EQ(checkpoint.step(), 200U);
  EXPECT_EQ(checkpoint.values(), values);
  EXPECT_EQ(checkpoint.tensors().size(), tensors.size());
  for (const PlainTensor& tensor : tensors) {
    EXPECT_EQ(*checkpoint.find(tensor.spec.name), tensor.spec);
    EXPECT_EQ(read_back(checkpoint, tensor.spec), tensor.bytes) << tensor.spec.name;
  }
  EXPECT_EQ(checkpoint.find("none"), nullptr);
  EXPECT_THAT(error_text<DataError>([&] { checkpoint.read("none", {}); }),
              HasSubstr("step-000000200 has no tensor 'none'"));
  EXPECT_EQ(verify(path).tensors, tensors.size());
  EXPECT_EQ(verify(path).pieces, tensors.size() - 1);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0750U);
}

TEST(Checkpoint, WithoutTensorsIsOneToo) {
  const TempDir dir;
  const fs::path path = CheckpointWriter(dir.path(), 0, {}).commit({{"step", "0"}});
  EXPECT_EQ(Checkpoint(path).values().at("step"), "0");
  EXPECT_EQ(verify(path).bytes, 0U);
}

// Any layout written, any other read: tensors cut at random by three ranks, read in other cuts.
TEST(Checkpoint, AnyBoxesReadBackInAnyOthers) {
  Random random(4);
  const std::vector<Shape> shapes = {{}, {13}, {7, 11}, {5, 3, 7}, {3, 0}, {2, 3, 5, 2}, {1, 1}};
  for (int round = 0; round < 60; ++round) {
    const TempDir dir;
    std::vector<PlainTensor> tensors;
    for (size_t i = 0; i < shapes.size(); ++i)
      tensors.push_back(
          {{format("t{}", i), static_cast<DType>(random() % kDTypes), shapes[i]}, random});
    std::vector<std::vector<Piece>> ranks(3);
    for (const PlainTensor& tensor : tensors) {
      for (const Box& box : some_cuts(tensor.spec.shape, static_cast<int>(random() % 8), random)) {
        const Piece piece = piece_of(tensor, box);
        // Pieces of an empty box have no bytes, and several may be equal: only an empty tensor
        // keeps one.
        if (!piece.bytes.empty() || tensor.bytes.empty()) ranks[random() % 3].push_back(piece);
        if (tensor.bytes.empty()) break;
      }
    }
    const fs::path path = save_pieces(dir.path(), 7, ranks);
    const Checkpoint checkpoint(path);
    for (const PlainTensor& tensor : tensors) {
      EXPECT_EQ(read_back(checkpoint, tensor.spec), tensor.bytes);
      for (int i = 0; i < 10; ++i) {
        const Box box = some_box(tensor.spec.shape, random);
        std::vector<std::byte> out(elements_of(box) * element_bytes(tensor.spec.dtype));
        checkpoint.read(tensor.spec.name, box, out);
        EXPECT_EQ(out, tensor.part(box)) << describe(box) << " of " << describe(tensor.spec.shape);
      }
    }
    (void)verify(path);
  }
}

TEST(Checkpoint, PiecesOfSeveralChunksAreCheckedWhereTheyAreRead) {
  const TempDir dir;
  Random random(5);
  const PlainTensor tensor({"t", DType::kF32, {1021, 1031}}, random);  // just above 4 MiB
  const fs::path path = save_pieces(
      dir.path(), 1,
      {{piece_of(tensor, {{0, 0}, {1000, 1031}}), piece_of(tensor, {{1000, 0}, {21, 1031}})}});
  std::vector<size_t> chunks;
  Checkpoint(path).index().for_each(0, [&](const PieceIndex::Place& place, const Box&) {
    chunks.push_back(place.crc32c.size());
  });
  EXPECT_THAT(chunks, ElementsAre(4U, 1U));
  EXPECT_EQ(read_back(Checkpoint(path), tensor.spec), tensor.bytes);

  const fs::path file = path / "rank-00000-00000.safetensors";
  std::fstream damage(file, std::ios::in | std::ios::out | std::ios::binary);
  const auto at = static_cast<std::streamoff>(4096 + 2 * kChunkBytes + 17);
  damage.seekg(at);
  const char byte = static_cast<char>(damage.get() ^ 1);
  damage.seekp(at);
  damage.put(byte);
  damage.close();
  const Checkpoint checkpoint(path);
  const auto rows = [&](int64_t begin, int64_t count) {
    const Box box{{begin, 3}, {count, 1000}};
    std::vector<std::byte> out(elements_of(box) * 4);
    checkpoint.read("t", box, out);
    return out == tensor.part(box);
  };
  EXPECT_TRUE(rows(0, 508));    // the chunks before
  EXPECT_TRUE(rows(763, 258));  // and behind
  EXPECT_THAT(
      error_text<DataError>([&] { (void)rows(500, 30); }),
      AllOf(HasSubstr("rank-00000-00000.safetensors is damaged: tensor \"t\" [0:1000,0:1031]"),
            HasSubstr("1048576 bytes at 2101248: crc32c is")));
  EXPECT_THAT(error_text<DataError>([&] { (void)verify(path); }), HasSubstr("is damaged"));
}

TEST(Checkpoint, FilesAreSafetensorsAndFollowEachOther) {
  const TempDir dir;
  Random random(6);
  const std::string long_name(500, 'n');
  std::vector<Piece> pieces;
  for (int i = 0; i < 700; ++i) {  // more than one header has room for
    const PlainTensor tensor({long_name + std::to_string(i), DType::kU8, {3, 2}}, random);
    pieces.push_back(piece_of(tensor, {{0, 0}, {1, 2}}));
    pieces.push_back(piece_of(tensor, {{1, 0}, {2, 2}}));
  }
  const Checkpoint checkpoint(save_pieces(dir.path(), 1, {pieces}));
  EXPECT_GT(checkpoint.files().size(), 2U);
  size_t found = 0;
  for (const DataFile& file : checkpoint.files()) {
    const Safetensors opened(checkpoint.path() / file.name);
    found += opened.tensors().size();
    EXPECT_EQ(opened.tensors().front().at, file.header_bytes);
    EXPECT_EQ(file.header_bytes % 4096, 0U);
  }
  EXPECT_EQ(found, 1400U);
  const Safetensors first(checkpoint.path() / "rank-00000-00000.safetensors");
  EXPECT_EQ(first.find(long_name + "0[1:3,0:2]")->shape, (Shape{2, 2}));
  (void)verify(checkpoint.path());
}

// The index of some files each, exchanged: as ranks do that load one checkpoint together.
TEST(Checkpoint, IsReadWithAnIndexOfSeveralShares) {
  const TempDir dir;
  Random random(16);
  const PlainTensor tensor({"t", DType::kI16, {29, 31}}, random);
  std::vector<std::vector<Piece>> ranks(7);
  for (const Box& box : some_cuts(tensor.spec.shape, 40, random)) {
    Piece piece = piece_of(tensor, box);
    if (!piece.bytes.empty()) ranks[random() % ranks.size()].push_back(std::move(piece));
  }
  const fs::path path = save_pieces(dir.path(), 1, ranks);
  std::vector<std::string> sent;
  for (size_t reader = 0; reader < 3; ++reader) {
    const FileShare share{.first = reader, .step = 3};
    sent.push_back(Checkpoint(path, share).read_index(share).packed());
  }
  Checkpoint checkpoint(path, {.first = 1, .step = 3});
  PieceIndex index(checkpoint.manifest());
  for (const std::string& text : sent) index.add_packed(text);
  const size_t all_pieces = index.pieces();
  EXPECT_EQ(all_pieces, checkpoint.read_index({}).pieces());
  checkpoint.use_index(std::move(index));
  EXPECT_EQ(read_back(checkpoint, tensor.spec), tensor.bytes);

  // Without what one of them has there is a hole, which is seen where it is read.
  Checkpoint torn(path);
  PieceIndex some(torn.manifest());
  some.add_packed(sent[0]);
  some.add_packed(sent[2]);
  torn.use_index(std::move(some));
  EXPECT_THAT(error_text<DataError>([&] { (void)read_back(torn, tensor.spec); }),
              HasSubstr("the pieces of tensor \"t\" do not cover [0:29,0:31] of its shape"));
  for (size_t size = 1; size < sent[0].size(); ++size) {
    PieceIndex cut(torn.manifest());
    try {
      cut.add_packed(std::string_view(sent[0]).substr(0, size));
      EXPECT_LT(cut.pieces(), all_pieces);
    } catch (const DataError&) {
    }
  }
}

// One bit in each byte of each file.
TEST(Checkpoint, EveryFlippedByteIsFound) {
  const TempDir dir;
  Random random(7);
  std::vector<Piece> pieces;
  for (const PlainTensor& tensor : odd_tensors(random)) pieces.push_back(whole_piece(tensor));
  const fs::path path = save_pieces(dir.path(), 1, {pieces}, {{"seed", "7"}});
  size_t flips = 0;
  size_t missed = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    for (std::streamoff at = 0; at < static_cast<std::streamoff>(entry.file_size()); ++at) {
      file.seekg(at);
      const int byte = file.get();
      const auto put = [&](int value) {
        file.seekp(at);
        file.put(static_cast<char>(value));
        file.flush();
      };
      put(byte ^ (1 << (random() % 8)));
      try {
        (void)verify(path);
        ++missed;
        ADD_FAILURE() << entry.path() << " at " << at;
      } catch (const DataError&) {
        ++flips;
      }
      put(byte);
    }
  }
  EXPECT_EQ(missed, 0U);
  EXPECT_GT(flips, 11'000U);
  (void)verify(path);  // and whole again
}

TEST(Checkpoint, FilesThatAreShortLongMissingOrSwappedAreFound) {
  const TempDir dir;
  Random random(8);
  const PlainTensor a({"a", DType::kU8, {9}}, random);
  const PlainTensor b({"b", DType::kU8, {9}}, random);
  const fs::path path = save_pieces(dir.path(), 1, {{whole_piece(a)}, {whole_piece(b)}});
  const fs::path first_file = path / "rank-00000-00000.safetensors";
  const fs::path second_file = path / "rank-00001-00000.safetensors";
  const auto refusal = [&] { return error_text<DataError>([&] { (void)verify(path); }); };
  EXPECT_THAT(refusal(), HasSubstr("no error"));
  const uint64_t size = fs::file_size(first_file);

  fs::resize_file(first_file, size - 1);
  EXPECT_THAT(refusal(), HasSubstr(format("has {} bytes, but {} were written", size - 1, size)));
  fs::resize_file(first_file, size + 1);
  EXPECT_THAT(refusal(), HasSubstr(format("has {} bytes, but {} were written", size + 1, size)));
  fs::resize_file(first_file, size);
  EXPECT_THAT(refusal(), HasSubstr("is damaged: tensor \"a\" [0:9]"));  // its last byte is 0 now

  fs::rename(first_file, dir / "kept");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("cannot open"), HasSubstr("No such file")));
  fs::create_symlink(dir / "kept", first_file);
  EXPECT_THAT(refusal(), HasSubstr("cannot open"));
  fs::remove(first_file);
  fs::rename(second_file, first_file);
  fs::rename(dir / "kept", second_file);
  EXPECT_THAT(refusal(), HasSubstr("is damaged"));
  fs::remove(path / kCheckpointManifest);
  EXPECT_THAT(refusal(), HasSubstr("manifest.json: No such file"));
}

TEST(Checkpoint, ModesAreTheOwnersAndTheGroupsLessTheUmask) {
  const auto mode_of = [](const fs::path& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  };
  Random random(18);
  const PlainTensor tensor({"a", DType::kU8, {9}}, random);
  for (const auto& [umask, directory, file] :
       {std::array{022U, 0750U, 0640U}, std::array{077U, 0700U, 0600U}}) {
    const TempDir dir;
    const mode_t before = ::umask(umask);
    const fs::path path = save_pieces(dir / "deep/root", 1, {{whole_piece(tensor)}});
    ::umask(before);
    EXPECT_EQ(mode_of(dir / "deep"), directory);
    EXPECT_EQ(mode_of(dir / "deep/root"), directory);
    EXPECT_EQ(mode_of(path), directory);
    EXPECT_EQ(mode_of(path / kCheckpointManifest), file);
    EXPECT_EQ(mode_of(path / "rank-00000-00000.safetensors"), file);
  }
}

TEST(Checkpoint, LinksAreNotFollowed) {
  const TempDir dir;
  Random random(19);
  const PlainTensor tensor({"a", DType::kU8, {9}}, random);
  const fs::path path = save_pieces(dir.path(), 1, {{whole_piece(tensor)}});
  for (const char* name : {kCheckpointManifest, "rank-00000-00000.safetensors"}) {
    fs::rename(path / name, dir / "elsewhere");
    fs::create_symlink(dir / "elsewhere", path / name);
    EXPECT_THAT(error_text<DataError>([&] { (void)Checkpoint(path); }),
                AllOf(HasSubstr(name),
                      ::testing::AnyOf(HasSubstr("symbolic link"), HasSubstr("Too many levels"))));
    fs::remove(path / name);
    fs::rename(dir / "elsewhere", path / name);
  }
  (void)verify(path);
}

TEST(CheckpointWriter, RefusesPiecesThatDoNotFitTogether) {
  const TempDir dir;
  const auto refusal = [&](const std::vector<std::vector<Piece>>& ranks) {
    return error_text<DataError>([&] { save_pieces(dir.path(), 1, ranks); });
  };
  const auto piece = [](DType dtype, Shape shape, Box box) {
    const uint64_t bytes = elements_of(box) * element_bytes(dtype);
    return Piece{{{"a", dtype, std::move(shape)}, std::move(box)}, std::vector<std::byte>(bytes)};
  };
  EXPECT_THAT(refusal({{piece(DType::kU8, {3, 3}, {{0, 0}, {2, 3}})}}),
              HasSubstr("the pieces of tensor \"a\" have 6 elements, which do not cover its shape "
                        "[3, 3] exactly once"));
  // As many elements as there are, but one row twice.
  EXPECT_THAT(refusal({{piece(DType::kU8, {3, 3}, {{0, 0}, {2, 3}})},
                       {piece(DType::kU8, {3, 3}, {{1, 0}, {1, 3}})}}),
              HasSubstr("have 9 elements, which do not cover"));
  EXPECT_THAT(refusal({{piece(DType::kU8, {3, 3}, {{0, 0}, {2, 3}})},
                       {piece(DType::kU8, {3, 3}, {{0, 0}, {1, 3}})}}),
              HasSubstr("tensor \"a\" is written by two ranks"));
  EXPECT_THAT(refusal({{piece(DType::kU8, {2, 3}, {{0, 0}, {2, 3}})},
                       {piece(DType::kI8, {2, 3}, {{1, 0}, {1, 3}})}}),
              HasSubstr("1 tensors were written without their first element"));
  EXPECT_TRUE(fs::is_empty(dir.path()));

  const std::vector<std::byte> six(6);
  CheckpointWriter writer(dir.path(), 1, {{"a", DType::kU8, {2, 3}, {{0, 0}, {2, 2}}}});
  EXPECT_THAT(error_text<BugError>([&] { writer.write(six); }),
              HasSubstr("[0:2,0:2] of tensor 'a' has 4 bytes, not 6"));
  EXPECT_THAT(error_text<BugError>([&] { writer.commit({}); }), HasSubstr("0 of 1 pieces"));
  const auto bug = [&](PieceSpec spec) {
    return error_text<BugError>([&] { CheckpointWriter(dir.path(), 1, {std::move(spec)}); });
  };
  EXPECT_THAT(bug({"a", DType::kU8, {2, 3}, {{1, 0}, {2, 3}}}), HasSubstr("not lie in [2, 3]"));
  EXPECT_THAT(bug({"a[0]", DType::kU8, {2}, {{0}, {2}}}), HasSubstr("is no name for a tensor"));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 1);  // only the first one's
}

TEST(PartCoverage, IsTheSumOfThePlaces) {
  Random random(17);
  for (const Shape& shape : {Shape{}, Shape{13}, Shape{7, 11}, Shape{5, 3, 7}, Shape{3, 0}}) {
    for (int i = 0; i < 20; ++i) {
      const Box box = some_box(shape, random);
      Coverage expected;
      for_each_run(whole_of(shape), box, [&](const ElementRun& run) {
        for (uint64_t k = 0; k < run.count; ++k) {
          ++expected.elements;
          expected.places += run.from + k;
        }
      });
      EXPECT_EQ(coverage_of(shape, box), expected) << describe(box) << " of " << describe(shape);
    }
  }
}

}  // namespace
}  // namespace shoal::state
