// eval_choices.h -- multiple choice: which of several endings a model finds likeliest.
//
// Lines are in HellaSwag's form, {"ctx": ..., "endings": [...], "label": 2}, or with the LM evaluation
// harness's names, {"query": ..., "choices": [...], "gold": 2}. Encoding, joining by a space and cutting
// to the model's context follow the harness.
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

// DataError says what is missing.
ChoiceItem choice_in(std::string_view line);

struct ChoiceOptions {
  std::string file;
  std::optional<std::string> details;  // a JSON object per item goes there
};

Report eval_choices(const OpenedModel& model,
                    std::shared_ptr<const data::Tokenizer> tokenizer,
                    const ChoiceOptions& options);

}  // namespace shoal::app
