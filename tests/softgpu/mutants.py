#!/usr/bin/env python3
"""Faults of streams, lifetimes, devices and order that are made on purpose, one at a time: do the tests on fake GPUs name each of them?

    tests/softgpu/mutants.py                 # all of them: half an hour
    tests/softgpu/mutants.py staging split   # those whose name has one of these
    tests/softgpu/mutants.py --check         # only whether each still finds what it changes
    tests/softgpu/mutants.py --gate 3        # does turn 3 of .ci/run find each of them, and by which test?

A fault is a text of a source that becomes another one. The sources are copied to a tree of their own and built there, with the fake
GPUs. A fault is found when its layouts fail, or the conformance suite does, and what is printed names it.

Exit codes: 0 when all are found, 1 when one survives or does not build.
"""
import argparse
import dataclasses
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PATIENCE = 400  # seconds for one fault's tests


@dataclasses.dataclass
class Mutant:
    name: str
    path: str
    old: str
    new: str
    by: str  # layouts of layouts_test.py, or a filter of the conformance suite
    report: str  # what must be said
    conformance: bool = False


def not_awaited(name, path, call, by, collective):
    """A wait that is left out: the call goes on while others use its tensors."""
    return Mutant(name, path, f"{call}.wait();", f"(void){call}.done();", by, rf"softcuda: race \d+: .*{collective}")


UNIT_GROUP, EXECUTOR = "shoal/parallel/unit_group.cpp", "shoal/parallel/executor.cpp"
VOCABULARY = "shoal/parallel/tensor/tensor_vocabulary.cpp"
MUTANTS = [
    Mutant("gather-not-awaited", UNIT_GROUP, "void UnitGroup::settle() {\n  gathering_.wait();", "void UnitGroup::settle() {\n  (void)gathering_.done();",
           "full_shard", r"softcuda: race \d+: .*ncclAllGather"),
    not_awaited("reduction-not-awaited", UNIT_GROUP, "\n  reduction_", "shard_grad_op", "ncclReduceScatter"),
    # Where all ranks are replicas the loss is summed by the same communicator, and behind it: its wait is enough.
    not_awaited("replicas-not-awaited", UNIT_GROUP, "\n  replication_", "hybrid_shard", "ncclAllReduce"),
    not_awaited("targets-not-awaited", EXECUTOR, 'groups_.data.all_reduce(targets_, comm::Reduce::kSum, "targets of the step")', "no_shard", "ncclAllReduce"),
    not_awaited("loss-not-awaited", EXECUTOR, 'groups_.losses.all_reduce(loss_, comm::Reduce::kSum, "loss of the step")', "no_shard", "ncclAllReduce"),
    not_awaited("norm-not-awaited", EXECUTOR, 'groups_.norms.all_reduce(squares, comm::Reduce::kSum, "norm of all gradients")', "full_shard", "ncclAllReduce"),
    Mutant("receive-not-awaited", EXECUTOR, "  incoming.pending.wait();\n  InFlight", "  (void)incoming.pending.done();\n  InFlight", "gpipe",
           r"softcuda: race \d+: .*nccl(Recv|GroupEnd)"),
    Mutant("tied-gradient-not-awaited", EXECUTOR, '"gradients of the tied matrix")\n      .wait();', '"gradients of the tied matrix")\n      .done();', "tied",
           r"softcuda: race \d+: .*nccl"),
    Mutant("tensor-parts-not-awaited", "shoal/parallel/tensor/tensor_rows.h", "    pending_.wait();", "    (void)pending_.done();", "tensor",
           r"softcuda: race \d+: .*nccl(AllGather|ReduceScatter)"),
    not_awaited("largest-logits-not-awaited", VOCABULARY, 'group_.all_reduce(all.largest, comm::Reduce::kMax, "largest logits")', "tensor", "ncclAllReduce"),
    Mutant("no-order-of-streams", "shoal/comm/pending.cpp", "  for (const auto& work : flight->works) watch.order(*work);\n", "", "full_shard",
           r"softcuda: race \d+: .*nccl"),
    Mutant("save-while-gathering", "shoal/checkpoint/held_tensors.cpp",
           "written_by(const TrainingState& state) {\n  state.model.settle();", "written_by(const TrainingState& state) {\n  (void)state.model;", "optimizer",
           r"softcuda: race \d+: cudaMemcpyAsync .*ncclAllGather"),
    Mutant("staging-not-awaited", "shoal/checkpoint/staged_part.cpp", "  if (!tensors.empty()) wait_for(tensors.front().flat.device());\n",
           "  if (tensors.empty()) wait_for(memory_.device());\n", "alone", r"softcuda: the host reads pinned memory"),
    Mutant("figures-read-too-early", "shoal/train/unread_steps.cpp", "at::stack(scalars).cpu()", "at::stack(scalars).to(at::kCPU, /*non_blocking=*/true)", "alone",
           r"softcuda: the host reads pinned memory"),
    Mutant("pinned-buffer-reused", "shoal/model/functions/sent_to_device.h", "  return host.pin_memory().to(",
           "  static const at::Tensor memory = at::empty({1 << 20}, at::kLong).pin_memory();\n"
           "  const at::Tensor staging = memory.view(host.scalar_type()).narrow(0, 0, host.numel()).view(host.sizes());\n"
           "  staging.copy_(host);\n  return staging.to(", "alone", r"softcuda: the host writes pinned memory"),
    Mutant("copy-on-another-stream", "shoal/model/functions/sent_to_device.h", "  return host.pin_memory().to(",
           "  const c10::StreamGuard side(c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device));\n  return host.pin_memory().to(", "alone",
           r"softcuda: race \d+: .*cudaMemcpyAsync"),
    Mutant("every-rank-on-the-first-gpu", "shoal/comm/world.cpp", "c10::Device World::device() const { return parts_->device; }",
           "c10::Device World::device() const {\n  return parts_->device.is_cpu() ? parts_->device : c10::Device(c10::kCUDA, 0);\n}", "no_shard",
           r"error: rank \d: .*tensor not on device"),
    Mutant("split-skipped-when-alone", "shoal/comm/communicators.cpp", "    if (transport != nullptr) transport->stay_out();\n", "", "*nccl_3*",
           r"parity|did not arrive|ncclCommSplit", conformance=True),
    Mutant("receives-posted-before-sends", "shoal/plan/passes/transfers.cpp", "    if (turn.taker)\n      receives.post_until(turn.sent, result);\n    else if (i + 1",
           "    if (i + 1", "1f1b", r"rank \d: .* in (recv|send) '(activations|gradients)'|mismatch"),
]
HEADERS = {"pinned-buffer-reused": ("#include <ATen/core/Tensor.h>\n", "#include <ATen/ATen.h>\n"),
           "copy-on-another-stream": ("#include <ATen/core/Tensor.h>\n",
                                      "#include <ATen/core/Tensor.h>\n#include <c10/core/StreamGuard.h>\n#include <c10/core/impl/VirtualGuardImpl.h>\n")}


def changed(mutant, text):
    """The text with the fault; nothing when it is not there exactly once."""
    if text.count(mutant.old) != 1:
        return None
    text = text.replace(mutant.old, mutant.new)
    return text.replace(*HEADERS[mutant.name]) if mutant.name in HEADERS else text


def check(mutants):
    wrong = [mutant for mutant in mutants if changed(mutant, (ROOT / mutant.path).read_text()) is None]
    for mutant in wrong:
        print(f"FAILED: {mutant.name}: its text is not in {mutant.path}, or more than once")
    print(f"{len(mutants) - len(wrong)} of {len(mutants)} faults can be made")
    return 1 if wrong else 0


def mutants_of_layouts():
    """tests/mutants/run.py as a module."""
    spec = importlib.util.spec_from_file_location("mutants_of_layouts", ROOT / "tests" / "mutants" / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Tree:
    """A copy of the sources, and the GPU half that is built from it."""

    def __init__(self, release, directory, run_or_stop):
        self.release, self.run_or_stop = release, run_or_stop
        self.source, self.binary, self.jobs = release.source, directory / "cuda", release.jobs
        release.copy_sources()
        release.configure()
        self.build_or_stop()
        self.configure()
        self.build_or_stop()

    def configure(self):
        self.run_or_stop(["cmake", "-S", self.source, "-B", self.binary, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DSHOAL_CUDA=ON",
                          f"-DSHOAL_RELEASE_DIR={self.release.binary}"])

    def build(self):
        """What the compiler says against it, or nothing."""
        for directory, targets in ((self.release.binary, ["shoal-engine", "shoal", "shoal-prepare"]), (self.binary, ["all"])):
            if not (directory / "build.ninja").exists():
                continue
            done = subprocess.run(["nice", "-n", "10", "cmake", "--build", directory, "-j", str(self.jobs), "--target", *targets],
                                  capture_output=True, text=True)
            if done.returncode != 0:
                return done.stdout + done.stderr
        return ""

    def build_or_stop(self):
        if text := self.build():
            sys.exit(f"FAILED: the sources do not build:\n{text}")

    def test(self, mutant):
        """The exit code of its tests, and what they print."""
        softcuda = self.binary / "tests" / "testbed" / "softcuda" / "softcuda"
        environment = {**os.environ, "SHOAL_BINARY_DIR": str(self.binary), "SHOAL_SOURCE_DIR": str(self.source), "SOFTCUDA": str(softcuda), "OMP_NUM_THREADS": "1"}
        if mutant.conformance:
            command = [softcuda, "--devices", "8", "--", self.binary / "tests" / "softgpu" / "softgpu_conformance_test", f"--gtest_filter={mutant.by}"]
        else:
            command = ["/usr/bin/python3", HERE / "layouts_test.py", *mutant.by.split()]
        done = subprocess.run(["nice", "-n", "5", *command], capture_output=True, text=True, timeout=PATIENCE, env=environment)
        return done.returncode, done.stdout + done.stderr


class GateTree(Tree):
    """The same in the directories of .ci/run, with the tests on fake GPUs that a turn selects."""

    def configure(self):
        self.binary = self.source / "build" / "cuda"
        self.run_or_stop(["cmake", "--preset", "cuda", "-S", self.source], cwd=self.source)
        self.run_or_stop(["tools/gate.py", "select", "cuda"], cwd=self.source, env=self.release.environment)
        self.patterns = list(filter(None, ((self.binary / "gate" / part).read_text() for part in ("first", "changed", "ranks", "rest"))))

    def test(self, mutant):
        for pattern in self.patterns:
            done = subprocess.run(["ctest", "--preset", "cuda", "--stop-on-failure", "-R", pattern], cwd=self.source, capture_output=True, text=True,
                                  env=self.release.environment)
            if done.returncode != 0:
                return done.returncode, done.stdout + done.stderr
        return 0, ""


def hunt(mutant, tree):
    """A row of the table, and whether the fault was found."""
    path = tree.source / mutant.path
    text = path.read_text()
    began = time.monotonic()
    try:
        path.write_text(changed(mutant, text))
        if said := tree.build():
            return f"does not build:\n{said[-2000:]}", False
        code, said = tree.test(mutant)
    finally:
        path.write_text(text)
    found = re.search(r"\S+ \.+\*\*\*.*" if isinstance(tree, GateTree) else mutant.report, said)
    seconds = f"{time.monotonic() - began:>4.0f} s"
    if code == 0:
        return f"{seconds}  survives", False
    if not found:
        return f"{seconds}  fails, and is not named: {said[-600:]}", False
    line = next(line for line in said.splitlines() if found.group(0).splitlines()[0] in line)
    return f"{seconds}  {line[line.index(found.group(0).splitlines()[0]):][:150]}", True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names; all without any")
    parser.add_argument("--check", action="store_true", help="only whether each fault can be made")
    parser.add_argument("--gate", type=int, metavar="TURN", help="run the tests of this turn of .ci/run")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "mutants", metavar="DIR", help="where the copy is, build/mutants without it")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="compilers at a time")
    options = parser.parse_args()
    mutants = [mutant for mutant in MUTANTS if not options.names or any(name in mutant.name for name in options.names)]
    if options.check:
        return check(mutants)
    hunts, directory = mutants_of_layouts(), options.build.resolve()
    if options.gate is None:
        tree = Tree(hunts.Tree(directory, options.jobs), directory, hunts.run_or_stop)
    else:
        tree = GateTree(hunts.GateTree(directory, options.jobs, options.gate), directory, hunts.run_or_stop)
    survivors = []
    for mutant in mutants:
        row, found = hunt(mutant, tree)
        print(f"{mutant.name:<30} {row}", flush=True)
        if not found:
            survivors.append(mutant.name)
    print(f"{len(mutants) - len(survivors)} of {len(mutants)} faults found and named" + "".join(f"\n  not found: {name}" for name in survivors))
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
