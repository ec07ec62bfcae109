"""The counters of a program are those that a GPU's profiler would show, per NVTX range and in total."""

import ctypes
import json
import os
import subprocess
import sys
import tempfile

import torch

runtime = ctypes.CDLL("libcudart.so.13")


def counts():
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        assert runtime.softcudaWriteCounts(file.name.encode())
        return json.load(open(file.name))


def in_range(name, act):
    torch.cuda.nvtx.range_push(name)
    act()
    torch.cuda.nvtx.range_pop()
    return counts()["ranges"].get(name, {"counters": {}, "launches": {}, "collectives": {}})


failures = 0


def expect(what, found, wanted):
    global failures
    if found != wanted:
        failures += 1
        print(f"{what}: {found}, not {wanted}")


def plain(part, *names):
    return [part["counters"].get(name, 0) for name in names]


def main():
    x = torch.ones(4, 4, device="cuda")
    torch.cuda.synchronize()

    part = in_range("views launch nothing", lambda: x.view(16).t().unsqueeze(0))
    expect("launches of views", part["counters"], {})

    part = in_range("one each", lambda: ((x @ x) + x).sum())
    expect("launches", part["launches"], {"aten::mm": 1, "aten::add.Tensor": 1, "aten::sum.dim_IntList": 1})

    part = in_range("item", lambda: x[0, 0].item())
    names = ["host_reads", "stream_synchronizations", "copies_pinned_async_device_to_host", "launches"]
    expect("item", plain(part, *names), [1, 1, 1, 0])

    part = in_range("cpu", lambda: x.cpu())
    names = ["host_reads", "stream_synchronizations", "copies_pageable_device_to_host"]
    expect("cpu", plain(part, *names), [1, 1, 1])
    expect("cpu bytes", plain(part, "copies_pageable_device_to_host_bytes"), [64])

    pinned = torch.ones(8).pin_memory()
    part = in_range("pinned", lambda: pinned.to("cuda", non_blocking=True))
    expect("pinned", plain(part, "copies_pinned_async_host_to_device", "stream_synchronizations"), [1, 0])
    torch.cuda.synchronize()

    part = in_range("pageable", lambda: torch.ones(8).to("cuda"))
    expect("pageable", plain(part, "copies_pageable_host_to_device", "copies_pinned_async_host_to_device"), [1, 0])

    part = in_range("clone", lambda: x.clone())
    expect("clone", plain(part, "copies_device_to_device", "launches"), [1, 0])

    part = in_range("strided copy", lambda: x.t().contiguous())
    expect("strided copy", part["launches"], {"aten::copy_": 1})

    part = in_range("waits", lambda: (torch.cuda.synchronize(), torch.cuda.current_stream().synchronize()))
    expect("waits", plain(part, "device_synchronizations", "stream_synchronizations"), [1, 1])

    # multi_tensor_apply: 110 tensors per launch for one list, 320 blocks of 65,536 elements.
    many = [torch.ones(3, device="cuda") for _ in range(111)]
    part = in_range("foreach of many", lambda: torch._foreach_add_(many, 1))
    expect("foreach of many", part["launches"], {"aten::_foreach_add_.Scalar": 2})
    big = [torch.ones(65536 * 321, device="cuda", dtype=torch.int8)]
    part = in_range("foreach of a big one", lambda: torch._foreach_add_(big, 1))
    expect("foreach of a big one", part["launches"], {"aten::_foreach_add_.Scalar": 2})

    weight = torch.ones(4, 4, device="cuda", requires_grad=True)
    part = in_range("backward", lambda: (x @ weight).sum().backward())
    expect("backward is on another thread", part["launches"].get("aten::mm"), 2)

    def allocate():
        torch.empty(64 << 20, dtype=torch.int8, device="cuda")
        torch.cuda.empty_cache()

    part = in_range("allocate", allocate)
    expect("cudaMalloc", plain(part, "cuda_malloc"), [1])
    expect("cudaFree", plain(part, "cuda_free")[0] >= 1, True)

    check_table()
    return 1 if failures else 0


def check_table():
    table = os.path.join(os.environ["SOFTCUDA_PROGRAMS"], "softcuda-counts")
    with tempfile.TemporaryDirectory() as directory:
        old, new = os.path.join(directory, "old.json"), os.path.join(directory, "new-%r.json")
        runtime.softcudaWriteCounts(old.encode())
        torch.ones(2, device="cuda").exp()
        os.environ["RANK"] = "3"
        runtime.softcudaWriteCounts(new.encode())
        new = os.path.join(directory, "new-3.json")
        run = lambda *arguments: subprocess.run(
            [sys.executable, table, *arguments], capture_output=True, text=True, env={})
        printed = run(old)
        expect("table", (printed.returncode, "launches of aten::mm" in printed.stdout), (0, True))
        printed = run("--compare", old, new)
        expect("comparison", (printed.returncode, "launches of aten::exp" in printed.stdout), (1, True))
        expect("comparison is short", "aten::mm" in printed.stdout, False)
        expect("same", run("--compare", old, old).stdout, "no difference\n")


if __name__ == "__main__":
    sys.exit(main())
