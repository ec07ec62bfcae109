#include "shoal/checkpoint/hugging_face.h"

#include <set>

#include <ATen/ATen.h>

#include "shoal/blueprint/decoder.h"
#include "shoal/checkpoint/tensor_bytes.h"
#include "shoal/core/error.h"
#include "shoal/hugging_face/names.h"
#include "shoal/state/safetensors_index.h"

namespace shoal::checkpoint {
namespace {

namespace fs = std::filesystem;
using hugging_face::ForeignPart;
using hugging_face::ForeignTensor;
using state::TensorDirectory;

class Loading {
 public:
  Loading(const fs::path& directory, const hugging_face::DescribedModel& model)
      : path_(directory), files_(directory), model_(model) {}

  void load(const blueprint::WeightSpec& spec, const at::Tensor& weight) {
    const ForeignTensor foreign =
        hugging_face::foreign_tensor(model_.family, model_.config, spec.name);
    int64_t row = 0;
    for (const ForeignPart& part : foreign.parts) {
      const int64_t rows = foreign.parts.size() == 1 ? weight.size(0) : part.rows;
      at::Tensor into = weight.narrow(0, row, rows);
      if (foreign.transposed) into = into.t();
      copy(hugging_face::name_in(files_, part.name), into);
      row += rows;
    }
  }

  // Throws when there is no such tensor, whichever rank will load it.
  void require(const blueprint::WeightSpec& spec) {
    for (const ForeignPart& part :
         hugging_face::foreign_tensor(model_.family, model_.config, spec.name).parts)
      (void)use(hugging_face::name_in(files_, part.name));
  }

  void refuse_what_is_left() const {
    for (const std::string& name : files_.names()) {
      if (used_.count(name) == 0 && !hugging_face::needs_no_place(name, model_.config.tied))
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
  const hugging_face::DescribedModel& model_;
  std::set<std::string> used_;
};

}  // namespace

// Whole tensors are read one at a time, in the type of their destination, and this rank keeps its
// part of each.
void load_hugging_face(const fs::path& directory, parallel::ParallelModel& model) {
  const hugging_face::DescribedModel described = hugging_face::read_config(directory);
  Loading loading(directory, described);
  const config::ModelConfig& config = described.config;
  for (const blueprint::UnitBlueprint& unit :
       blueprint::units_of(config, blueprint::UnitRange::all(config))) {
    for (const blueprint::WeightSpec& weight : unit.weights) loading.require(weight);
  }
  loading.refuse_what_is_left();
  model.set_masters([&] {
    const at::NoGradGuard no_grad;
    const std::vector<at::Tensor> masters = model.masters();
    for (const plan::Holding& holding : model.holdings()) {
      const at::Tensor into = masters[holding.group].narrow(0, holding.offset, holding.count);
      const at::Tensor whole = at::empty(holding.weight->shape, into.options().device(at::kCPU));
      loading.load(*holding.weight, whole);
      into.copy_(parallel::part_of(whole, holding));
    }
  });
}

}  // namespace shoal::checkpoint
