// fit_cluster -- the rates of a cluster file that fit published step times best.
//
//   build/release/fit_cluster clusters/a100_80g.yaml published/vts.csv > fitted.yaml
//
// Only rates of the device are moved: links are taken from the file, because rows of one node cannot tell a fast link from a fast
// device. One rate after the other is moved up and down, and a move is kept that lowers the mean error; steps shrink until none does.
// What was fitted on a table is no test on it: hold the file against other rows (`shoal plan validate --fitted vts`).

#include <cmath>
#include <iostream>
#include <string>
#include <vector>

#include "shoal/config/cluster_config.h"
#include "shoal/config/print.h"
#include "shoal/config/read.h"
#include "shoal/core/error.h"
#include "shoal/score/groups.h"

#include "app/arguments.h"

namespace {

using namespace shoal;

constexpr size_t kEvery = 3;  // rows are many, and alike

struct Rate {
  const char* name;
  double& (*of)(config::ClusterConfig& cluster);
  double most;
};

const std::vector<Rate>& rates() {
  using Cluster = config::ClusterConfig;
  static const std::vector<Rate> all = {
      {"products_share", [](Cluster& c) -> double& { return c.device.products_share; }, 1},
      {"products_half_gflop", [](Cluster& c) -> double& { return c.device.products_half_gflop; },
       1e3},
      {"attention_share", [](Cluster& c) -> double& { return c.device.attention_share; }, 1},
      {"memory_share", [](Cluster& c) -> double& { return c.device.memory_share; }, 1},
      {"launch_us", [](Cluster& c) -> double& { return c.device.launch_us; }, 1e3},
  };
  return all;
}

double error_of(const config::ClusterConfig& cluster,
                const std::vector<score::PublishedRow>& rows) {
  double sum = 0;
  for (const score::PublishedRow& row : rows)
    sum += std::abs(score::step_seconds(row, cluster) / row.value - 1);
  return sum / static_cast<double>(rows.size());
}

config::ClusterConfig fitted(config::ClusterConfig cluster,
                             const std::vector<score::PublishedRow>& rows) {
  double best = error_of(cluster, rows);
  for (double step = std::sqrt(2.0); step > 1.04;) {
    bool moved = false;
    for (const Rate& rate : rates()) {
      for (const double factor : {step, 1 / step}) {
        config::ClusterConfig changed = cluster;
        double& value = rate.of(changed);
        value = std::min(rate.most, value * factor);
        const double error = error_of(changed, rows);
        if (error >= best) continue;
        best = error;
        cluster = changed;
        moved = true;
        std::cerr << rate.name << ' ' << value << ": mean error " << 100 * best << " %\n";
      }
    }
    if (!moved) step = std::sqrt(step);
  }
  return cluster;
}

}  // namespace

int main(int argc, char** argv) {
  std::string cluster;
  std::string table;
  app::Arguments arguments(
      "fit_cluster",
      "The rates of a cluster file that fit published step times best, on standard output.");
  arguments.option("cluster", cluster, "where to begin", {.shown = "FILE", .required = true});
  arguments.option("table", table, "rows, such as published/vts.csv",
                   {.shown = "FILE", .required = true});
  try {
    if (!arguments.parse({argv + 1, argv + argc})) return 0;
    std::vector<score::PublishedRow> rows;
    for (const score::PublishedRow& row : score::read_published(table).rows)
      if (row.metric == score::Metric::kStepTime) rows.push_back(row);
    for (size_t i = 0; kEvery * i < rows.size(); ++i) rows[i] = rows[kEvery * i];
    rows.resize((rows.size() + kEvery - 1) / kEvery);
    const config::ClusterConfig found = fitted(config::load_cluster(cluster), rows);
    std::cout << config::to_yaml(config::table_of(found));
  } catch (const Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 2;
  }
}
