// model_job.h -- the model that a command runs, spread over the ranks of its job, which may be one.
//
//   const ModelJob job("gpt2", {.sets = {"parallel.tp=2"}});
//   const generate::Generator generator(*job.model().model, tokenizer);
//   if (job.speaks()) std::cout << ...
//
// Under a launcher all ranks run the same command and get the same answers; rank 0 prints them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/comm/world.h"
#include "shoal/parallel/ranks.h"

#include "app/arguments.h"
#include "app/engine/job.h"
#include "app/engine/open_model.h"

namespace shoal::app {

// The options --layout and --set of commands that run a model.
struct LayoutChoice {
  std::optional<std::string> layout;
  std::vector<std::string> sets;
};

void add_layout_choice(Arguments& command, LayoutChoice& choice);

class ModelJob {
 public:
  // Throws UsageError when path or layout are invalid. Collective.
  ModelJob(const std::string& path, const LayoutChoice& choice);
  ModelJob(const ModelJob&) = delete;
  ModelJob& operator=(const ModelJob&) = delete;

  [[nodiscard]] const OpenedModel& model() const { return model_; }
  [[nodiscard]] bool speaks() const { return job_.speaks(); }
  // Throws UsageError when there are several ranks, because standard input reaches only one.
  void refuse_standard_input() const;
  // Called at the end: frees the model and leaves the job. Collective.
  void leave();

 private:
  Job job_;
  std::unique_ptr<comm::World> world_;
  std::unique_ptr<parallel::Ranks> ranks_;
  OpenedModel model_;
};

}  // namespace shoal::app
