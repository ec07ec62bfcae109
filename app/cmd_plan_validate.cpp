#include "app/cmd_plan_validate.h"

#include <iostream>
#include <map>
#include <set>

#include "shoal/config/cluster_config.h"
#include "shoal/core/error.h"
#include "shoal/core/format.h"
#include "shoal/core/quantities.h"
#include "shoal/core/shipped_file.h"
#include "shoal/score/groups.h"
#include "shoal/score/leave_one_out.h"
#include "shoal/score/machines.h"
#include "shoal/score/regret.h"

#include "app/report.h"

namespace shoal::app {
namespace {

using score::Compared;
using score::Group;
using score::Machine;
using score::PublishedRow;
using score::PublishedRows;
using score::Score;

// The source with so few rows that each is predicted with what the others reached, and the one with many
// layouts of a model.
constexpr const char* kLeftOut = "kor22";
constexpr const char* kManyLayouts = "vtm";

// A layout that the planner chooses for a device among measured ones.
struct Chosen {
  std::string device;
  score::Pick pick;
};

struct Scored {
  Group group;
  Score score;
};

std::vector<Machine> machines_of(const ValidateWords& words) {
  if (words.clusters.empty() && !words.fitted.empty())
    throw UsageError("--fitted says what the file of --cluster was fitted on: give that as well");
  if (words.clusters.empty()) return score::read_machines(own_or_shipped(words.directory));
  std::vector<Machine> machines;
  for (const std::string& file : words.clusters)
    for (Machine& machine : score::machines_of(config::load_cluster(file), words.fitted))
      machines.push_back(std::move(machine));
  return machines;
}

std::vector<Scored> scores_of(const ValidateWords& words,
                              const std::vector<Machine>& machines,
                              const std::vector<PublishedRow>& rows) {
  std::vector<Scored> scores;
  const auto add = [&](Group group, Score score) {
    if (!score.rows.empty()) scores.push_back({std::move(group), std::move(score)});
  };
  for (const Group& group : score::memory_groups()) add(group, score_of(group, rows));
  for (const Machine& machine : machines) {
    const std::vector<Group> groups = score::time_groups(machine);
    for (const Group& group : groups) add(group, score_of(group, rows));
    if (machine.source != kLeftOut || !words.clusters.empty()) continue;
    Group left_out = groups.front();
    left_out.name += ", fit on the others";
    left_out.evidence = score::Evidence::kLeftOut;
    add(left_out, score::score_leaving_one_out(machine, rows));
  }
  return scores;
}

// Models of which many layouts were measured: what the planner's choice among them costs.
std::vector<Chosen> choices_of(const std::vector<Machine>& machines,
                               const std::vector<PublishedRow>& rows) {
  std::vector<Chosen> choices;
  for (const Machine& machine : machines) {
    if (machine.source != kManyLayouts) continue;
    for (score::Pick& pick : score::picks_of(machine, rows))
      choices.push_back({machine.cluster.device.name, std::move(pick)});
  }
  return choices;
}

std::string error_shown(double share) { return format("{:+.2f} %", 100 * share); }
std::string mean_shown(double share) { return format("{:.2f} %", 100 * share); }

std::string value_shown(const PublishedRow& row, double value) {
  return is_memory(row.metric) ? format("{:.4f} GiB", value / (1024.0 * 1024 * 1024))
                               : format("{:.4g} s", value);
}

void print_rows(const Scored& scored) {
  for (const Compared& compared : scored.score.rows)
    std::cout << format(
        "  {:<14} {:<21} measured {:>14}  predicted {:>14}  {:>10}\n", compared.row->id,
        score::metric_name(compared.row->metric), value_shown(*compared.row, compared.row->value),
        value_shown(*compared.row, compared.predicted), error_shown(compared.error()));
}

// Why rows are not compared, and how many of each source.
using Reasons = std::map<std::string, int>;

Reasons reasons_of(const std::vector<Scored>& scores, const PublishedRows& published) {
  Reasons reasons;
  for (const score::UncoveredRow& row : published.uncovered)
    ++reasons[format("{}: {}", row.id.substr(0, row.id.rfind('-')), row.reason)];
  std::set<const PublishedRow*> compared;
  for (const Scored& scored : scores)
    for (const Compared& row : scored.score.rows) compared.insert(row.row);
  for (const PublishedRow& row : published.rows) {
    if (compared.contains(&row)) continue;
    ++reasons[is_memory(row.metric)
                  ? format("{}: no rules for the memory of {}", row.source(), row.setup.engine)
                  : format("{}: step times of {}, which no cluster file describes", row.source(),
                           row.setup.gpu)];
  }
  return reasons;
}

int total_of(const Reasons& reasons) {
  int total = 0;
  for (const auto& [reason, count] : reasons) total += count;
  return total;
}

void print_choices(const std::vector<Chosen>& choices) {
  for (const auto& [device, pick] : choices)
    std::cout << format(
        "{}: of {} layouts of {} layers {} wide on {} devices {} is chosen, {:.1f} % slower than "
        "the fastest, {}; without times {} would be, {:.1f} %; one at random is {:.1f} %\n",
        device, pick.layouts.size(), pick.chosen->config.model.layers,
        pick.chosen->config.model.width, pick.chosen->ranks, pick.chosen->id, 100 * pick.regret,
        pick.fastest->id, pick.naive->id, 100 * pick.naive_regret, 100 * pick.random_regret);
}

void print_table(const ValidateWords& words,
                 const std::vector<Scored>& scores,
                 const std::vector<Chosen>& choices,
                 const PublishedRows& published) {
  constexpr const char* kLine = "{:<34} {:>5} {:>10} {:>10}  {:<12} {:<8} {}\n";
  std::cout << format(kLine, "group", "rows", "mean", "worst", "of", "rows are", "to beat");
  for (const Scored& scored : scores) {
    const Compared& worst = *scored.score.worst();
    std::cout << format(
        kLine, scored.group.name, scored.score.rows.size(), mean_shown(scored.score.mean()),
        error_shown(worst.error()), worst.row->id, score::evidence_name(scored.group.evidence),
        scored.group.to_beat
            ? format("{}: {}", scored.group.held_by, mean_shown(*scored.group.to_beat))
            : "");
    if (words.rows) print_rows(scored);
  }
  const Reasons reasons = reasons_of(scores, published);
  print_choices(choices);
  const size_t all = published.uncovered.size() + published.rows.size();
  const int others = total_of(reasons);
  std::cout << format("\n{} rows of {} are compared. {} are not:\n", static_cast<int>(all) - others,
                      all, others);
  for (const auto& [reason, count] : reasons) std::cout << format("  {:>4}  {}\n", count, reason);
}

Report json_report(const ValidateWords& words,
                   const std::vector<Scored>& scores,
                   const std::vector<Chosen>& choices,
                   const PublishedRows& published) {
  Report report;
  Report::Section& groups = report.section("groups");
  Report::Section& rows = report.section("rows");
  for (const Scored& scored : scores) {
    const Compared& worst = *scored.score.worst();
    Report::Named facts = {{"rows", static_cast<int64_t>(scored.score.rows.size())},
                           {"mean_error", scored.score.mean()},
                           {"worst_error", worst.error()},
                           {"worst_row", worst.row->id},
                           {"evidence", std::string(score::evidence_name(scored.group.evidence))}};
    if (scored.group.to_beat) {
      facts.emplace_back("to_beat", *scored.group.to_beat);
      facts.emplace_back("held_by", scored.group.held_by);
    }
    groups.add(scored.group.name, facts);
    if (!words.rows) continue;
    for (const Compared& compared : scored.score.rows)
      rows.add(format("{}: {}", scored.group.name, compared.row->id),
               Report::Named{{"group", scored.group.name},
                             {"metric", std::string(score::metric_name(compared.row->metric))},
                             {"measured", compared.row->value},
                             {"predicted", compared.predicted}});
  }
  Report::Section& chosen = report.section("choices");
  for (const auto& [device, pick] : choices)
    chosen.add(format("{} x {} on {} {}", pick.chosen->config.model.layers,
                      pick.chosen->config.model.width, pick.chosen->ranks, device),
               Report::Named{{"layouts", static_cast<int64_t>(pick.layouts.size())},
                             {"chosen", pick.chosen->id},
                             {"fastest", pick.fastest->id},
                             {"slower", pick.regret},
                             {"naive", pick.naive->id},
                             {"naive_slower", pick.naive_regret},
                             {"random_slower", pick.random_regret}});
  const Reasons reasons = reasons_of(scores, published);
  const auto all = static_cast<int64_t>(published.uncovered.size() + published.rows.size());
  report.section("compared").add("rows", all - total_of(reasons)).add("of", all);
  Report::Section& others = report.section("not_compared");
  for (const auto& [reason, count] : reasons) others.add(reason, count);
  return report;
}

}  // namespace

void print_validation(const ValidateWords& words) {
  const PublishedRows published = score::read_all_published(own_or_shipped(words.directory));
  const std::vector<Machine> machines = machines_of(words);
  const std::vector<Scored> scores = scores_of(words, machines, published.rows);
  const std::vector<Chosen> choices = choices_of(machines, published.rows);
  if (words.json) {
    std::cout << json_report(words, scores, choices, published).json();
  } else {
    print_table(words, scores, choices, published);
  }
}

}  // namespace shoal::app
