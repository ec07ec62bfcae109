#include "shoal/metrics/step_record.h"

#include <array>
#include <charconv>
#include <cmath>

namespace shoal::metrics {
namespace {

constexpr std::array kFields = std::to_array<Field>({
    {"step", "progress", "", "steps done, of all", &StepRecord::step, Show::kWhole, "step", 5},
    {"tokens", "progress", "tokens", "read since the start of the run", &StepRecord::tokens,
     Show::kRate},
    {"loss", "loss", "nats", "mean cross-entropy per token of the batch", &StepRecord::loss,
     Show::kLoss, "loss", 7},
    {"val_loss", "loss", "nats", "the same on held-out text, when that was measured",
     &StepRecord::val_loss, Show::kLoss, "val_loss", 8},
    {"perplexity", "loss", "", "e to the val_loss", &StepRecord::perplexity, Show::kPlain},
    {"lr", "optimizer", "", "learning rate", &StepRecord::lr, Show::kPower, "lr", 8},
    {"grad_norm", "optimizer", "", "length of the whole gradient, before clipping",
     &StepRecord::grad_norm, Show::kPlain, "norm", 6},
    {"skipped_steps", "optimizer", "steps", "left out so far because a gradient was not finite",
     &StepRecord::skipped_steps, Show::kWhole},
    {"dt", "time", "s", "time of the whole step", &StepRecord::dt, Show::kTime, "dt", 6},
    {"dtf", "time", "s", "time in forward", &StepRecord::dtf, Show::kTime},
    {"dtb", "time", "s", "time in backward", &StepRecord::dtb, Show::kTime},
    {"samples_per_second", "speed", "samples/s", "samples per second of all devices together",
     &StepRecord::samples_per_second, Show::kRate},
    {"tokens_per_second", "speed", "tokens/s", "tokens per second of all devices together",
     &StepRecord::tokens_per_second, Show::kRate, "tok/s", 6},
    {"tokens_per_second_per_device", "speed", "tokens/s", "tokens per second of each device",
     &StepRecord::tokens_per_second_per_device, Show::kRate},
    {"mfu", "speed", "", "share of the measured peak that the model's arithmetic comes to",
     &StepRecord::mfu, Show::kShare, "mfu", 6},
    {"memory_bytes", "memory", "bytes", "peak memory of the fullest device",
     &StepRecord::memory_bytes, Show::kBytes, "mem", 10},
    {"startup_seconds", "time", "s", "time from the command to the first step, which has it",
     &StepRecord::startup_seconds, Show::kTime},
    {"time_left", "progress", "s", "time until the last step, at the present speed",
     &StepRecord::time_left, Show::kTime, "left", 6},
});

std::optional<Number> as_number(int64_t value) { return value; }

std::optional<Number> as_number(double value) { return value; }

template <class Value>
std::optional<Number> as_number(const std::optional<Value>& value) {
  return value ? as_number(*value) : std::nullopt;
}

std::string exact_double(double value) {
  if (std::isnan(value)) return "nan";  // whatever its sign
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

}  // namespace

std::optional<Number> Field::of(const StepRecord& record) const {
  return std::visit([&record](auto pointer) { return as_number(record.*pointer); }, member);
}

std::string Field::tag() const { return std::string(group) + "/" + std::string(name); }

std::span<const Field> fields() { return kFields; }

std::string exact(const Number& number) {
  if (const auto* whole = std::get_if<int64_t>(&number)) return std::to_string(*whole);
  return exact_double(std::get<double>(number));
}

bool finite(const Number& number) {
  const auto* real = std::get_if<double>(&number);
  return real == nullptr || std::isfinite(*real);
}

}  // namespace shoal::metrics
