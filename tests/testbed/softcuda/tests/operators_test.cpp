// Operators, autograd and an optimizer on a fake GPU beside the CPU: the same numbers.
#include <functional>
#include <string>

#include <gtest/gtest.h>
#include <torch/types.h>

#include "gpu.h"

namespace {

using torch::Tensor;

void expect_same(const Tensor& cuda, const Tensor& cpu, const std::string& what) {
  ASSERT_TRUE(cuda.is_cuda()) << what;
  const auto difference = (cuda.cpu().to(torch::kDouble) - cpu.to(torch::kDouble)).abs();
  EXPECT_LE(difference.numel() ? difference.max().item<double>() : 0, 1e-6) << what;
}

struct Case {
  const char* name;
  std::function<Tensor(const Tensor&)> compute;
};

// In fp32 a sum of 500,000 squares one after the other is off by 1e-5; no GPU sums that way.
TEST(Operators, NormsAreAsExactAsATreeOfSums) {
  torch::manual_seed(2);
  const auto x = torch::randn({500'009});
  const double exact = x.to(torch::kDouble).norm().item<double>();
  const double found = torch::_foreach_norm({x.to(kGpu)})[0].item<float>();
  EXPECT_NEAR(found / exact, 1, 1e-6);
}

TEST(Operators, ComputeWhatTheCpuComputes) {
  torch::manual_seed(1);
  const auto x = torch::randn({17, 33});
  const Case cases[] = {
      {"mm", [](const Tensor& t) { return t.mm(t.t()); }},
      {"add", [](const Tensor& t) { return t + t * 2; }},
      {"add a scalar of the CPU", [](const Tensor& t) { return t + torch::tensor(3.f); }},
      {"transposed copy", [](const Tensor& t) { return t.t().contiguous(); }},
      {"bfloat16",
       [](const Tensor& t) { return t.to(torch::kBFloat16).mm(t.to(torch::kBFloat16).t()); }},
      {"layer_norm", [](const Tensor& t) { return torch::layer_norm(t, {33}); }},
      {"rms_norm", [](const Tensor& t) { return torch::rms_norm(t, {33}); }},
      {"softmax", [](const Tensor& t) { return torch::softmax(t, 1); }},
      {"arange", [](const Tensor& t) { return torch::arange(10, torch::device(t.device())); }},
      {"cat",
       [](const Tensor& t) {
         return torch::cat({t, t});
       }},
      {"nonzero", [](const Tensor& t) { return torch::nonzero(t > 0); }},
      {"masked_select", [](const Tensor& t) { return t.masked_select(t > 0); }},
      {"index",
       [](const Tensor& t) {
         return t.index({torch::tensor({3, 1}, t.device())});
       }},
      {"index by the CPU",
       [](const Tensor& t) {
         return t.index({torch::tensor({3, 1})});
       }},
      {"index_add",
       [](const Tensor& t) {
         return t.index_add(0, torch::tensor({1, 1, 4}, t.device()), t.slice(0, 0, 3));
       }},
      {"cumsum", [](const Tensor& t) { return torch::cumsum(t, 1); }},
      {"topk", [](const Tensor& t) { return std::get<0>(torch::topk(t, 3)); }},
      {"sort", [](const Tensor& t) { return std::get<1>(torch::sort(t, 1)); }},
      {"where", [](const Tensor& t) { return torch::where(t > 0, t, -t); }},
      {"outer", [](const Tensor& t) { return torch::outer(t[0], t[1]); }},
      {"out",
       [](const Tensor& t) {
         Tensor out = torch::empty({0}, t.options());
         return torch::mul_out(out, t, t);
       }},
      {"foreach",
       [](const Tensor& t) {
         return torch::_foreach_mul({t, t}, 2)[1];
       }},
      {"foreach norm",
       [](const Tensor& t) {
         return torch::_foreach_norm({t, t})[0];
       }},
      {"empty", [](const Tensor& t) { return t.slice(0, 0, 0) * 2; }},
      {"einsum",
       [](const Tensor& t) {
         return torch::einsum("ij,kj->ik", {t, t});
       }},
  };
  for (const Case& c : cases) expect_same(c.compute(x.to(kGpu)), c.compute(x), c.name);
}

TEST(Operators, ComposedAttentionIsTheCpus) {
  const auto q = torch::randn({2, 4, 8, 16});
  const auto attend = [](const Tensor& t) {
    return torch::scaled_dot_product_attention(t, t, t, {}, 0.0, /*is_causal=*/true);
  };
  expect_same(attend(q.to(kGpu)), attend(q), "scaled_dot_product_attention");
}

// Documents of 5 and 3 tokens, two heads of queries to one of keys; gradients by autograd.
TEST(Operators, PackedFlashAttentionIsPlainAttentionPerDocument) {
  const auto make = [](int64_t heads) { return torch::randn({8, heads, 8}).to(torch::kHalf); };
  const Tensor parts[] = {make(2), make(1), make(1)};
  const auto begins = torch::tensor({0, 5, 8}, torch::kInt);
  std::vector<Tensor> gpu, cpu;
  for (const Tensor& part : parts) {
    gpu.push_back(part.to(kGpu).requires_grad_());
    cpu.push_back(part.to(torch::kFloat).requires_grad_());
  }
  const auto there = begins.to(kGpu);
  const auto out = std::get<0>(at::_flash_attention_forward(gpu[0], gpu[1], gpu[2], there, there, 5,
                                                            5, 0.0, /*is_causal=*/true, false));
  std::vector<Tensor> documents;
  for (const auto& [begin, end] : {std::pair(0, 5), std::pair(5, 8)}) {
    const auto first = [&](const Tensor& t) { return t.slice(0, begin, end).transpose(0, 1); };
    documents.push_back(
        torch::scaled_dot_product_attention(first(cpu[0]), first(cpu[1]).repeat({2, 1, 1}),
                                            first(cpu[2]).repeat({2, 1, 1}), {}, 0.0, true)
            .transpose(0, 1));
  }
  const auto wanted = torch::cat(documents);
  EXPECT_LE((out.cpu().to(torch::kFloat) - wanted).abs().max().item<float>(), 4e-3);
  out.sum().backward();
  wanted.sum().backward();
  for (size_t i = 0; i < 3; ++i) {
    const auto difference = gpu[i].grad().cpu().to(torch::kFloat) - cpu[i].grad();
    EXPECT_LE(difference.abs().max().item<float>(), 2e-2) << "gradient " << i;
  }
}

TEST(Operators, RandomNumbersFollowTheSeed) {
  const auto draw = [] { return torch::randn({1000}, torch::device(kGpu)); };
  torch::manual_seed(5);
  const auto first = draw(), second = draw();
  torch::manual_seed(5);
  EXPECT_TRUE(torch::equal(first, draw()));
  EXPECT_FALSE(torch::equal(first, second));
  EXPECT_NEAR(first.std().item<float>(), 1, 0.1);
}

// A small model of plain tensors: an embedding, a layer, a norm and a layer.
class Model {
 public:
  explicit Model(const torch::Device& device) {
    torch::manual_seed(2);
    const std::vector<std::vector<int64_t>> shapes = {{50, 16}, {32, 16}, {32}, {32}, {50, 32}};
    for (const auto& shape : shapes) {
      parameters.push_back((torch::randn(shape) * 0.3).to(device).requires_grad_());
    }
  }
  // One step of gradient descent with clipped gradients; the loss before it.
  Tensor step(const Tensor& ids, const Tensor& next) {
    const auto& p = parameters;
    const auto hidden = torch::gelu(torch::embedding(p[0], ids).matmul(p[1].t()));
    const auto logits = torch::layer_norm(hidden, {32}, p[2], p[3]).matmul(p[4].t());
    const auto loss = torch::cross_entropy_loss(logits.view({-1, 50}), next);
    loss.backward();
    const torch::NoGradGuard no_grad;
    std::vector<Tensor> gradients;
    for (const Tensor& parameter : p) gradients.push_back(parameter.grad());
    const auto norm = torch::stack(torch::_foreach_norm(gradients)).norm();
    torch::_foreach_mul_(gradients, torch::clamp_max(1.0 / (norm + 1e-6), 1.0));
    torch::_foreach_add_(parameters, gradients, -0.1);
    last_gradients = torch::_foreach_mul(gradients, 1);
    torch::_foreach_zero_(gradients);
    return loss.detach();
  }
  std::vector<Tensor> parameters, last_gradients;
};

TEST(Operators, TrainingIsTheCpus) {
  Model cpu(torch::kCPU), cuda(kGpu);
  for (int i = 0; i < 5; ++i) {
    const auto ids = torch::randint(50, {4, 8}), next = torch::randint(50, {32});
    const auto on_cpu = cpu.step(ids, next);
    expect_same(cuda.step(ids.to(kGpu), next.to(kGpu)), on_cpu, "loss");
  }
  for (size_t i = 0; i < cpu.parameters.size(); ++i) {
    expect_same(cuda.last_gradients[i], cpu.last_gradients[i], "gradient");
    expect_same(cuda.parameters[i].detach(), cpu.parameters[i].detach(), "parameter");
  }
}

TEST(Operators, NumbersDoNotWidenTheResult) {
  const auto whole = torch::ones({}, torch::device(kGpu).dtype(torch::kLong));
  EXPECT_EQ((whole * 2.5).scalar_type(), torch::kFloat);
  EXPECT_EQ((whole * 2.5).item<float>(), 2.5);
  EXPECT_EQ((whole.to(torch::kBFloat16) + 1.0).scalar_type(), torch::kBFloat16);
}

TEST(Operators, TensorsOfTwoDevicesAreRefused) {
  const auto zero = torch::ones({2}, torch::device(kGpu));
  const auto one = torch::ones({2}, torch::device(torch::Device("cuda:1")));
  EXPECT_THROW(zero + one, c10::Error);
  EXPECT_THROW(zero + torch::ones({2}), c10::Error);
}

TEST(Operators, WrongShapesAreRefusedByTheCall) {
  const auto x = torch::ones({2, 3}, torch::device(kGpu));
  EXPECT_THROW(x.mm(x), c10::Error);
  EXPECT_EQ(x.sum().item<float>(), 6);
}

}  // namespace
