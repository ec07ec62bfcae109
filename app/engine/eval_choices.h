// eval_choices.h -- multiple-choice evaluation: which of several endings is likeliest under a
// model.
//
// Lines are in HellaSwag's form, {"ctx": ..., "endings": [...], "label": 2}, or with the LM
// evaluation harness's names, {"query": ..., "choices": [...], "gold": 2}. Encoding, joining by a
// space and cutting to the model's context follow the harness.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/engine/open_model.h"
#include "app/report.h"

namespace shoal::app {

struct ChoiceItem {
  std::string context;
  std::vector<std::string> endings;
  size_t label = 0;
};

// Parses a line; throws DataError that says what is missing.
ChoiceItem choice_in(std::string_view line);

struct ChoiceOptions {
  std::string file;
  std::optional<std::string> details;  // file for one JSON object per item
};

Report eval_choices(const OpenedModel& model,
                    std::shared_ptr<const data::Tokenizer> tokenizer,
                    const ChoiceOptions& options);

}  // namespace shoal::app
