"""torch.distributed on two ranks: a collective, steps of DistributedDataParallel that leave both ranks equal, and steps of
fully_shard, which gathers and reduces on two streams of one communicator, with the losses of one process."""

import ctypes
import json
import os
import subprocess
import sys
import tempfile

RANKS = 2


def train_sharded(rank, device):
    import torch
    from torch.distributed.fsdp import fully_shard

    def model_of():
        torch.manual_seed(5)
        return torch.nn.Sequential(*(torch.nn.Linear(33, 33) for _ in range(5))).to(device)

    def losses_of(model, rows):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        losses = []
        for step in range(4):
            torch.manual_seed(20 + step)
            loss = model(torch.randn(6, 33)[rows].to(device)).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.detach())
        return torch.stack(losses)

    sharded = model_of()
    for layer in sharded:
        fully_shard(layer)
    found = losses_of(fully_shard(sharded), slice(3 * rank, 3 * rank + 3))
    torch.distributed.all_reduce(found, torch.distributed.ReduceOp.AVG)
    expected = losses_of(model_of(), slice(0, 6))
    assert torch.allclose(found, expected, rtol=1e-5), f"the losses are {found.tolist()}, not {expected.tolist()}"


def run_rank(rank, store):
    import torch
    import torch.distributed as dist

    device = torch.device("cuda", rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", init_method=f"file://{store}", rank=rank, world_size=RANKS, device_id=device)
    total = torch.full((1000,), rank + 1.0, device=device)
    dist.all_reduce(total)
    assert total.eq(3).all().item(), "the sum is wrong"

    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64).to(device), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        torch.manual_seed(10 * step + rank)  # every rank has a batch of its own
        model(torch.randn(8, 64, device=device)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    weight = model.module.weight.detach()
    parts = [torch.empty_like(weight) for _ in range(RANKS)]
    dist.all_gather(parts, weight)
    assert torch.equal(parts[0], parts[1]), "the ranks differ after three steps"
    train_sharded(rank, device)
    runtime = ctypes.CDLL("libcudart.so.13")
    assert runtime.softcudaRaces() == 0, "there are races"
    assert runtime.softcudaWriteCounts(f"{store}-counts-%r".encode())
    calls = json.load(open(f"{store}-counts-{rank}"))["total"]["collectives"]
    assert calls["ncclAllReduce"] == 5, calls  # one of its own, one of each step, and one of losses
    dist.destroy_process_group()


def main():
    if len(sys.argv) == 3:
        return run_rank(int(sys.argv[1]), sys.argv[2])
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, __file__]
        store = os.path.join(directory, "store")
        ranks = [
            subprocess.Popen(command + [str(rank), store], env={**os.environ, "RANK": str(rank)})
            for rank in range(RANKS)
        ]
        codes = [rank.wait() for rank in ranks]
    print("exit codes", codes)
    return 0 if codes == [0] * RANKS else 1


if __name__ == "__main__":
    sys.exit(main())
