#include "app/cmd_plan_validate.h"

#include <iostream>
#include <map>
#include <set>

#include "shoal/config/cluster_config.h"
#include "shoal/core/format.h"
#include "shoal/core/quantities.h"
#include "shoal/score/groups.h"
#include "shoal/score/regret.h"

#include "app/report.h"

namespace shoal::app {
namespace {

using score::Compared;
using score::Group;
using score::PublishedRow;
using score::PublishedRows;
using score::Score;

struct Scored {
  Group group;
  Score score;
};

std::vector<Scored> scores_of(const ValidateWords& words,
                              const std::vector<config::ClusterConfig>& clusters,
                              const std::vector<PublishedRow>& rows) {
  std::vector<Group> groups = score::memory_groups();
  for (const config::ClusterConfig& cluster : clusters)
    for (Group& group : score::time_groups(cluster)) {
      for (const std::string& source : words.fitted)
        if (group.name.starts_with(source + " ")) group.evidence = score::Evidence::kFit;
      groups.push_back(std::move(group));
    }
  std::vector<Scored> scores;
  for (Group& group : groups) {
    Score score = score_of(group, rows);
    if (!score.rows.empty()) scores.push_back({std::move(group), std::move(score)});
  }
  return scores;
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
                  : format("{}: step times of {}, which no --cluster describes", row.source(),
                           row.setup.gpu)];
  }
  return reasons;
}

int total_of(const Reasons& reasons) {
  int total = 0;
  for (const auto& [reason, count] : reasons) total += count;
  return total;
}

// Models of which many layouts were measured: what the planner's choice among them costs.
void print_picks(const std::vector<config::ClusterConfig>& clusters,
                 const std::vector<PublishedRow>& rows) {
  for (const config::ClusterConfig& cluster : clusters) {
    std::vector<PublishedRow> measured;
    for (const PublishedRow& row : rows)
      if (row.source() == "vtm" && score::was_measured_on(row, cluster)) measured.push_back(row);
    for (const score::Pick& pick : score::picks_of(measured, cluster))
      std::cout << format(
          "{}: of {} layouts of {} layers {} wide on {} devices {} is chosen, {:.1f} % slower than "
          "the fastest, {}\n",
          cluster.device.name, pick.layouts.size(), pick.chosen->config.model.layers,
          pick.chosen->config.model.width, pick.chosen->ranks, pick.chosen->id, 100 * pick.regret,
          pick.fastest->id);
  }
}

void print_table(const ValidateWords& words,
                 const std::vector<config::ClusterConfig>& clusters,
                 const std::vector<Scored>& scores,
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
  print_picks(clusters, published.rows);
  std::cout << format("\n{} rows of {} are not compared:\n", total_of(reasons),
                      published.uncovered.size() + published.rows.size());
  for (const auto& [reason, count] : reasons) std::cout << format("  {:>4}  {}\n", count, reason);
}

Report json_report(const ValidateWords& words,
                   const std::vector<Scored>& scores,
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
      rows.add(compared.row->id,
               Report::Named{{"group", scored.group.name},
                             {"metric", std::string(score::metric_name(compared.row->metric))},
                             {"measured", compared.row->value},
                             {"predicted", compared.predicted}});
  }
  Report::Section& others = report.section("not_compared");
  for (const auto& [reason, count] : reasons_of(scores, published)) others.add(reason, count);
  return report;
}

}  // namespace

void print_validation(const ValidateWords& words) {
  const PublishedRows published = score::read_all_published(words.directory);
  std::vector<config::ClusterConfig> clusters;
  clusters.reserve(words.clusters.size());
  for (const std::string& file : words.clusters) clusters.push_back(config::load_cluster(file));
  const std::vector<Scored> scores = scores_of(words, clusters, published.rows);
  if (words.json) {
    std::cout << json_report(words, scores, published).json();
  } else {
    print_table(words, clusters, scores, published);
  }
}

}  // namespace shoal::app
