// The description of a checkpoint of Llama 3 405B with AdamW's state, as 16,384 ranks write it: manifest and the
// headers of all data files, whose tensors are holes. It is written, read, and planned for 8,192 other ranks.
// At the gate there are 1,024 ranks; SHOAL_SCALE_RANKS takes another number.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "shoal/config/load.h"
#include "shoal/core/files.h"
#include "shoal/core/format.h"
#include "shoal/core/quantities.h"
#include "shoal/plan/layout.h"
#include "shoal/state/checkpoint.h"
#include "shoal/state/checkpoint_writer.h"

#include "tests/support/growth.h"
#include "tests/support/planned_pieces.h"
#include "tests/support/temp_dir.h"

namespace shoal::state {
namespace {

namespace fs = std::filesystem;

int ranks_from_environment() {
  const char* const given = std::getenv("SHOAL_SCALE_RANKS");
  return given != nullptr ? std::atoi(given) : tests::is_nightly() ? 16'384 : 1'024;
}

config::RunConfig llama_405b(int ranks, const std::vector<std::string>& layout) {
  std::vector<std::string> sets = {
      "model.layers=126",        "model.width=16384",      "model.heads=128",
      "model.kv_heads=8",        "model.hidden=53248",     "model.context=8192",
      "model.vocab_size=128256", "model.positions=rotary", "model.norm=rms",
      "model.activation=swiglu", "model.bias=none",        "model.tied=false",
      "train.batch=2048",        "train.micro_batch=1",    "train.precision=bf16"};
  sets.insert(sets.end(), layout.begin(), layout.end());
  return config::load_or_throw({.sets = sets, .job = config::JobSize{ranks, 8}});
}

// By two threads, as one machine of a rank would do it with more.
template <class Work>
void for_each_rank(int ranks, const Work& work) {
  std::atomic<int> next = 0;
  const auto run = [&] {
    for (int rank = next++; rank < ranks; rank = next++) work(rank);
  };
  std::thread other(run);
  run();
  other.join();
}

// Like PartWriter, but the tensors are holes in the files.
PartReport describe_part(const UncommittedCheckpoint& checkpoint,
                         int rank,
                         std::vector<PieceSpec> specs) {
  PartReport report;
  std::vector<PieceInFile> pieces;
  for (PieceSpec& spec : specs) {
    report.add(spec);
    pieces.push_back({std::move(spec), 0, {}});
    pieces.back().crc32c.assign(chunks_of(piece_bytes(pieces.back())), 0x5f0c);
  }
  const std::string header = part_header(checkpoint.id(), pieces);
  DataFile file{.name = format("rank-{:05}-00000.safetensors", rank),
                .bytes = header.size(),
                .header_bytes = header.size(),
                .header_digest = xxh3_128(header)};
  for (const PieceInFile& piece : pieces) file.bytes += piece_bytes(piece);
  const fs::path path = checkpoint.directory() / file.name;
  const UniqueFd fd = create_file(path);
  EXPECT_EQ(::write(fd.get(), header.data(), header.size()), static_cast<ssize_t>(header.size()));
  EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(file.bytes)), 0);
  report.files = {file};
  return report;
}

int64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::atoll(line.c_str() + 6) * 1024;
  }
  return 0;
}

TEST(CheckpointAtScale, IsDescribedReadAndPlannedInSeconds) {
  const tests::TempDir dir;
  const int ranks = ranks_from_environment();
  const config::RunConfig saved =
      llama_405b(ranks, {"parallel.tp=8", "parallel.pp=16", "parallel.sharding=full_shard"});
  const plan::Mesh mesh = plan::mesh_of(saved.parallel, ranks);
  const auto began = Clock::now();

  auto since = Clock::now();
  UncommittedCheckpoint uncommitted(dir.path(), 1000);
  std::vector<std::string> texts(static_cast<size_t>(ranks));
  for_each_rank(ranks, [&](int rank) {
    texts[static_cast<size_t>(rank)] = to_json(
        describe_part(uncommitted, rank, tests::planned_pieces(saved, mesh, rank, DType::kF32)));
  });
  const double parts = seconds_since(since);

  since = Clock::now();
  std::vector<PartReport> reports(texts.size());
  size_t report_bytes = 0;
  for (const std::string& text : texts) report_bytes += text.size();
  for_each_rank(ranks, [&](int rank) {
    reports[static_cast<size_t>(rank)] =
        part_report_from_json(texts[static_cast<size_t>(rank)], "rank");
  });
  const fs::path path = uncommitted.commit({{"layout", mesh.describe()}}, reports);
  const double commit = seconds_since(since);
  const uint64_t manifest_bytes = fs::file_size(path / kCheckpointManifest);

  since = Clock::now();
  Checkpoint checkpoint(path);
  const double opening = seconds_since(since);
  since = Clock::now();
  const PieceIndex& index = checkpoint.index();
  const double reading = seconds_since(since);
  const size_t packed = checkpoint.read_index({.first = 0, .step = 1024}).packed().size();

  since = Clock::now();
  const int other_ranks = ranks / 2;
  const config::RunConfig wanted =
      llama_405b(other_ranks, {"parallel.tp=4", "parallel.pp=8", "parallel.dp_replicate=2",
                               "parallel.sharding=hybrid_shard"});
  const plan::Mesh other_mesh = plan::mesh_of(wanted.parallel, other_ranks);
  std::atomic<uint64_t> reads = 0;
  std::atomic<uint64_t> elements = 0;
  std::atomic<uint64_t> most = 0;
  std::atomic<uint64_t> holes = 0;
  for_each_rank(other_ranks, [&](int rank) {
    uint64_t of_rank = 0;
    for (const PieceSpec& piece : tests::planned_pieces(wanted, other_mesh, rank, DType::kF32)) {
      const auto tensor =
          static_cast<size_t>(checkpoint.find(piece.name) - checkpoint.tensors().data());
      uint64_t found = 0;
      index.for_each(tensor, piece.box, [&](const PieceIndex::Place&, const Box& box) {
        found += elements_of(*intersection(box, piece.box));
        ++of_rank;
      });
      if (found != elements_of(piece.box)) ++holes;
      elements += found;
    }
    reads += of_rank;
    for (uint64_t seen = most; of_rank > seen && !most.compare_exchange_weak(seen, of_rank);) {
    }
  });
  const double planning = seconds_since(since);

  EXPECT_EQ(holes, 0U);
  uint64_t all_elements = 0;
  for (const TensorSpec& tensor : checkpoint.tensors())
    all_elements += elements_of(whole_of(tensor.shape));
  EXPECT_EQ(elements, all_elements);
  const double all = seconds_since(began);
  std::cout << format(
      "{}: {} tensors, {} files, {} pieces, {} of tensors\n"
      "  manifest {}, reports {}, index of a 1024th {} packed\n"
      "  parts {:.2f} s, commit {:.2f} s, open {:.2f} s, index {:.2f} s, plan for {}: {:.2f} s, {} "
      "reads, at most "
      "{} of a rank\n  in all {:.2f} s, {} at the peak\n",
      mesh.describe(), checkpoint.tensors().size(), checkpoint.files().size(), index.pieces(),
      format_bytes(static_cast<int64_t>(all_elements * 4)),
      format_bytes(static_cast<int64_t>(manifest_bytes)),
      format_bytes(static_cast<int64_t>(report_bytes)), format_bytes(static_cast<int64_t>(packed)),
      parts, commit, opening, reading, other_mesh.describe(), planning, reads.load(), most.load(),
      all, format_bytes(peak_memory()));
  EXPECT_LE(manifest_bytes, 16U << 20);
  EXPECT_LT(peak_memory(), int64_t{2'000'000'000});
}

}  // namespace
}  // namespace shoal::state
