#!/usr/bin/env python3
"""GPT-2 and Llama in plain eager PyTorch, mixed precision by autocast: what shoal's launches are compared with.

    softcuda --counts FILE -- eager_models.py gpt2|llama LAYERS STEPS

Attention is the flash operator itself, one launch forward and three backward as in shoal, because scaled_dot_product_attention
would take its slow path on fake GPUs.
"""
import sys

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, KEY_HEADS, CONTEXT, VOCABULARY, BATCH = 48, 6, 2, 61, 257, 7


class Flash(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        out, lse, seed, unused, _ = torch.ops.aten._flash_attention_forward(q, k, v, None, None, q.size(1), k.size(1), 0.0, True, False)
        ctx.save_for_backward(q, k, v, out, lse, seed, unused)
        return out

    @staticmethod
    def backward(ctx, gradient):
        q, k, v, out, lse, seed, unused = ctx.saved_tensors
        return torch.ops.aten._flash_attention_backward(gradient, q, k, v, out, lse, None, None, q.size(1), k.size(1), 0.0, True, seed, unused)


class Gpt2Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, _):
        q, k, v = (part.unflatten(-1, (HEADS, -1)) for part in self.qkv(self.norm1(x)).split(WIDTH, dim=-1))
        x = x + self.out(Flash.apply(q, k, v).flatten(-2))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


def rotated(x, angles):
    cosines, sines = angles
    first, second = x.chunk(2, dim=-1)
    return (x * cosines + torch.cat((-second, first), dim=-1) * sines).to(x.dtype)


class LlamaBlock(nn.Module):
    def __init__(self):
        super().__init__()
        head = WIDTH // HEADS
        hidden = 4 * WIDTH
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.q, self.k, self.v = (nn.Linear(WIDTH, heads * head, bias=False) for heads in (HEADS, KEY_HEADS, KEY_HEADS))
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate, self.up, self.down = nn.Linear(WIDTH, hidden, bias=False), nn.Linear(WIDTH, hidden, bias=False), nn.Linear(hidden, WIDTH, bias=False)

    def forward(self, x, angles):
        y = self.norm1(x)
        q, k, v = (layer(y).unflatten(-1, (-1, WIDTH // HEADS)) for layer in (self.q, self.k, self.v))
        x = x + self.out(Flash.apply(rotated(q, angles), rotated(k, angles), v).flatten(-2))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Model(nn.Module):
    def __init__(self, block, layers):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(block() for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens, places, angles):
        x = self.tokens(tokens) + self.positions(places)
        for block in self.blocks:
            x = block(x, angles)
        return self.head(self.norm(x))


def main():
    family, layers, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.manual_seed(1)
    model = Model({"gpt2": Gpt2Block, "llama": LlamaBlock}[family], layers).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    turns = torch.outer(torch.arange(CONTEXT), 10_000 ** -torch.linspace(0, 1, WIDTH // HEADS // 2)).repeat(1, 2).unsqueeze(1)
    angles = turns.cos().cuda(), turns.sin().cuda()
    places = torch.arange(CONTEXT, device="cuda")
    tokens = torch.randint(VOCABULARY, (BATCH, CONTEXT + 1)).cuda()
    for _ in range(steps):
        with torch.autocast("cuda", torch.bfloat16):
            logits = model(tokens[:, :-1], places, angles)
            loss = F.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
