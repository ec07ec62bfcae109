"""A small training in Python on a fake GPU gives the CPU's losses, without a race."""

import ctypes
import sys

import torch
from torch import nn


def losses(device):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(64, 32), nn.Linear(32, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 64))
    ids = torch.randint(64, (20, 8, 17))
    model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, fused=True)
    found = []
    for batch in ids:
        if device == "cuda":
            batch = batch.pin_memory().to(device, non_blocking=True)
        logits = model(batch[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        found.append(loss.detach())
    return torch.stack(found).cpu()


def main():
    cpu, cuda = losses("cpu"), losses("cuda")
    difference = (cpu - cuda).abs().max().item()
    races = ctypes.CDLL("libcudart.so.13").softcudaRaces()
    print(f"{torch.cuda.get_device_name(0)}: last loss {cuda[-1]:.4f}, difference {difference:.1g}, {races} races")
    return 0 if difference < 1e-5 and races == 0 and cuda[-1] < cuda[0] else 1


if __name__ == "__main__":
    sys.exit(main())
