#include "shoal/checkpoint/hugging_face.h"

#include <map>
#include <set>

#include <ATen/ATen.h>

#include "shoal/checkpoint/spread_weights.h"
#include "shoal/checkpoint/tensor_bytes.h"
#include "shoal/core/error.h"
#include "shoal/state/hugging_face/names.h"
#include "shoal/state/safetensors_index.h"

namespace shoal::checkpoint {
namespace {

namespace fs = std::filesystem;
using state::ForeignPart;
using state::ForeignTensor;
using state::TensorDirectory;

class Loading {
 public:
  Loading(const fs::path& directory, const state::HuggingFaceModel& model)
      : path_(directory), files_(directory), model_(model) {}

  void load(const model::WeightSpec& spec, const at::Tensor& weight) {
    const ForeignTensor foreign = state::foreign_tensor(model_.family, model_.config, spec.name);
    int64_t row = 0;
    for (const ForeignPart& part : foreign.parts) {
      const int64_t rows = foreign.parts.size() == 1 ? weight.size(0) : part.rows;
      at::Tensor into = weight.narrow(0, row, rows);
      if (foreign.transposed) into = into.t();
      copy(state::name_in(files_, part.name), into);
      row += rows;
    }
  }

  // There is such a tensor, and it is another rank's to load.
  void leave(const model::WeightSpec& spec) {
    for (const ForeignPart& part :
         state::foreign_tensor(model_.family, model_.config, spec.name).parts)
      (void)use(state::name_in(files_, part.name));
  }

  void refuse_what_is_left() const {
    for (const std::string& name : files_.names()) {
      if (used_.count(name) == 0 && !state::needs_no_place(name, model_.config.tied))
        throw DataError(
            format("{} has a tensor '{}' that this model has no place for", path_.string(), name));
    }
  }

 private:
  TensorDirectory::Found use(const std::string& name) {
    used_.insert(name);
    return files_.require(name);
  }

  void copy(const std::string& name, const at::Tensor& into) {
    const TensorDirectory::Found found = use(name);
    if (into.sizes() != at::IntArrayRef(found.info->shape))
      throw DataError(format("{}: tensor '{}' is {}, but config.json asks for {}", path_.string(),
                             name, state::describe(found.info->shape),
                             state::describe(into.sizes().vec())));
    into.copy_(tensor_of(found.info->dtype, found.info->shape, found.bytes));
  }

  fs::path path_;
  TensorDirectory files_;
  const state::HuggingFaceModel& model_;
  std::set<std::string> used_;
};

}  // namespace

void load_hugging_face(const fs::path& directory, const model::Decoder& decoder) {
  const at::NoGradGuard no_grad;
  const state::HuggingFaceModel model = read_hugging_face_config(directory);
  Loading loading(directory, model);
  for (const auto& unit : decoder.units()) {
    for (size_t i = 0; i < unit->weights().size(); ++i)
      loading.load(unit->weights().spec(i), unit->weights().weight(i));
  }
  loading.refuse_what_is_left();
}

namespace {

void load_into(const fs::path& directory, parallel::ParallelModel& model, const FlatOf& flat_of) {
  const state::HuggingFaceModel described = read_hugging_face_config(directory);
  Loading loading(directory, described);
  model::PlainBuilder builder({});
  const model::Decoder all(described.config, builder);  // for the names: it has no tensors
  for (const auto& unit : all.units()) {
    for (size_t i = 0; i < unit->weights().size(); ++i) loading.leave(unit->weights().spec(i));
  }
  loading.refuse_what_is_left();
  model.settle();
  set_weights(model, flat_of, [&](const model::WeightSpec& spec, const at::Tensor& whole) {
    loading.load(spec, whole);
  });
}

}  // namespace

void load_hugging_face(const fs::path& directory, parallel::ParallelModel& model) {
  load_into(directory, model, [](const parallel::UnitGroup& group) { return group.shard(); });
  model.changed();
}

void load_hugging_face(const fs::path& directory,
                       parallel::ParallelModel& model,
                       optim::Optimizer& optimizer) {
  std::map<std::string, at::Tensor> masters;
  for (const optim::UnitState& unit : optimizer.unit_states()) masters[unit.name] = unit.master;
  load_into(directory, model, [&](const parallel::UnitGroup& group) {
    const auto found = masters.find(group.name());
    return found == masters.end() ? group.shard() : found->second;  // an empty one has none
  });
  optimizer.weights_from_masters();
  model.changed();
}

}  // namespace shoal::checkpoint
