#include "shoal/checkpoint/hugging_face.h"

#include <algorithm>
#include <map>
#include <set>

#include <ATen/ATen.h>

#include "shoal/checkpoint/spread_weights.h"
#include "shoal/checkpoint/tensor_bytes.h"
#include "shoal/core/error.h"
#include "shoal/core/files.h"
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

// A tensor of the export, as the part of a weight that it is.
using Exported = std::map<std::string, at::Tensor>;

Exported exported(const model::Decoder& decoder, state::Family family) {
  Exported tensors;
  for (const auto& unit : decoder.units()) {
    for (size_t i = 0; i < unit->weights().size(); ++i) {
      const at::Tensor& weight = unit->weights().weight(i);
      const ForeignTensor foreign =
          state::foreign_tensor(family, decoder.config(), unit->weights().spec(i).name);
      int64_t row = 0;
      for (const ForeignPart& part : foreign.parts) {
        const int64_t rows = foreign.parts.size() == 1 ? weight.size(0) : part.rows;
        const at::Tensor view = weight.narrow(0, row, rows);
        tensors[part.name] = foreign.transposed ? view.t() : view;
        row += rows;
      }
    }
  }
  return tensors;
}

// GPT-2's files always have biases: those of a model without are zeros.
void add_zero_biases(Exported& tensors) {
  constexpr std::string_view kEnd = ".weight";
  Exported biases;
  for (const auto& [name, tensor] : tensors) {
    if (name.find(".h.") == std::string::npos && name.find(".ln_f.") == std::string::npos) continue;
    const std::string bias = name.substr(0, name.size() - kEnd.size()) + ".bias";
    // Matrices are transposed there: the outputs are the last dimension, as they are a norm's only one.
    biases[bias] = at::zeros({tensor.size(-1)}, tensor.options());
  }
  tensors.merge(biases);
}

std::string_view dtype_in_config(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return "float32";
    case at::kBFloat16:
      return "bfloat16";
    case at::kHalf:
      return "float16";
    case at::kDouble:
      return "float64";
    default:
      throw UsageError("weights can be written as fp32, bf16, fp16 or fp64");
  }
}

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

void load_hugging_face(const fs::path& directory, parallel::ParallelModel& model) {
  const state::HuggingFaceModel described = read_hugging_face_config(directory);
  Loading loading(directory, described);
  model::PlainBuilder builder({});
  const model::Decoder all(described.config, builder);  // for the names: it has no tensors
  for (const auto& unit : all.units()) {
    for (size_t i = 0; i < unit->weights().size(); ++i) loading.leave(unit->weights().spec(i));
  }
  loading.refuse_what_is_left();
  set_weights(model, [&](const model::WeightSpec& spec, const at::Tensor& whole) {
    loading.load(spec, whole);
  });
}

void save_hugging_face(const fs::path& directory,
                       const model::Decoder& decoder,
                       const ExportOptions& options) {
  const state::Family family = state::family_of(decoder.config());
  Exported tensors = exported(decoder, family);
  if (family == state::Family::kGpt2 && decoder.config().bias == config::BiasOn::kNone)
    add_zero_biases(tensors);
  std::vector<state::TensorSpec> specs;
  for (const auto& [name, tensor] : tensors)
    specs.push_back({name, disk_type(options.dtype), tensor.sizes().vec()});
  fs::create_directories(directory);
  const state::ShardPlan plan = state::plan_shards(specs, options.max_file_bytes);
  for (const state::ShardFile& file : plan.files) {
    state::SafetensorsWriter writer(directory / file.name, file.tensors, {{"format", "pt"}});
    for (const state::TensorSpec& spec : file.tensors) {
      const at::Tensor bytes = tensors.at(spec.name).to(at::kCPU).to(options.dtype).contiguous();
      writer.write(spec.name, bytes_of(bytes));
    }
    writer.finish();
  }
  if (plan.files.size() > 1) state::write_index(directory, plan);
  write_file_atomically(
      directory / kConfigJson,
      state::write_config_json({family, decoder.config()}, dtype_in_config(options.dtype)));
}

}  // namespace shoal::checkpoint
