#include <gtest/gtest.h>

#include "shoal/plan/program.h"
#include "shoal/score/csv_table.h"
#include "shoal/score/groups.h"
#include "shoal/score/leave_one_out.h"
#include "shoal/score/llmc_memory.h"
#include "shoal/score/machines.h"
#include "shoal/score/megatron_memory.h"
#include "shoal/score/regret.h"
#include "shoal/score/validation.h"

namespace shoal::score {
namespace {

// shoal/score/csv_table.h
void csv_table() {
  const CsvTable table = read_csv("published/kor22.csv");
  table.cell(0, "layers"), table.place(0);
}

// shoal/score/leave_one_out.h
void leave_one_out(const Machine& machine, const PublishedRows& published) {
  const Score score = score_leaving_one_out(machine, published.rows);
}

// shoal/score/machines.h
void machines(const PublishedRows& published) {
  for (const Machine& machine : read_machines("published"))
    score_of(time_group(machine), published.rows).mean();
}

// shoal/score/llmc_memory.h
void llmc_memory(const plan::RankPlan& plan) {
  const LlmcRules rules;
  plan::memory_of(plan, plan::training_program(plan), rules).activations;
}

// shoal/score/megatron_memory.h
void megatron_memory(const plan::RankPlan& plan, const PublishedRow& row) {
  const MegatronRules rules(row.setup);
  plan::memory_of(plan, plan::training_program(plan), rules).peak();
}

// shoal/score/published_rows.h
void published_rows() {
  const PublishedRows kor22 = read_published("published/kor22.csv");
  const PublishedRow& row = kor22.rows[0];
  row.config, row.ranks, row.value;
}

// shoal/score/regret.h
void regret(const Machine& machine, const std::vector<PublishedRow>& rows) {
  for (const Pick& pick : picks_of(machine, rows)) pick.chosen->id, pick.regret;
}

// shoal/score/validation.h
void validation(const PublishedRows& published, double (*seconds)(const PublishedRow&)) {
  const Score score = score_of({.name = "kor22",
                                .holds = from("kor22", Metric::kStepTime),
                                .predict = [&](const PublishedRow& row) { return seconds(row); },
                                .to_beat = 0.0365,
                                .held_by = "Calculon"},
                               published.rows);
  score.mean(), score.worst()->row->id;
}

}  // namespace
}  // namespace shoal::score
