#!/usr/bin/env python3
"""Runs of shoal train that something goes wrong with: other jobs, ranks that stop, strangers, numbers that are none. What is said,
with which exit code, how soon, and that a run which goes on is not changed by it.

    SHOAL_BINARY_DIR=build/release tests/e2e/faults_test.py [Faults.test_step_one_in_fp16_is_not_skipped ...]
"""
import concurrent.futures
import contextlib
import ipaddress
import json
import math
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from faulty_runs import Said
from safetensors_file import bytes_of, change_number
from training_runs import PATIENCE, Run, documents, end_of, equal_checkpoints, kill, ranks_of, shoal

# Odd sizes throughout: 7 x 17 tokens, 3 heads of 10.
MODEL = ["model.layers=2", "model.heads=3", "model.width=30", "model.context=17"]
TRAINING = ["train.batch=7", "train.threads=1", "train.eval_every=0", "train.save_every=0",
            "optimizer.lr=3e-3", "optimizer.warmup=3", "optimizer.lr_schedule=constant"]


def sockets_of(pid):
    for entry in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):  # closed since
            name = os.readlink(f"/proc/{pid}/fd/{entry}")
            if name.startswith("socket:["):
                yield name.removeprefix("socket:[").removesuffix("]")


def address_of(text):
    """An endpoint as the kernel prints it: 0100007F:1F90 is ("127.0.0.1", 8080). Words of an address are in the host's order."""
    host, port = text.split(":")
    words = [int(host[i:i + 8], 16).to_bytes(4, "little") for i in range(0, len(host), 8)]
    return str(ipaddress.ip_address(b"".join(words))), int(port, 16)


def listening(pid):
    """The addresses at which a process listens."""
    own, found = set(sockets_of(pid)), []
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in own:  # LISTEN
                found.append(address_of(fields[1]))
    return found


def let_in(addresses):
    """Knocks at all of them: address -> connection, of those that were opened. The kernel opens a connection on one host while
    it is asked for, unless the listener drops the first packet; so once a process has been woken and speaks, those that
    say nothing are open as well, or stay shut."""
    knocking = {}
    for address in addresses:
        one = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
        one.setblocking(False)
        one.connect_ex(address)
        knocking[one] = address
    spoken, _, _ = select.select(list(knocking), [], [], PATIENCE)
    assert spoken, f"nobody greets at {addresses}"
    _, opened, _ = select.select([], list(knocking), [], 0)
    for one in knocking:
        if one not in opened:
            one.close()
    return {knocking[one]: one for one in opened}


def say_until_hung_up(address, words):
    """TimeoutError: the listener does not hang up."""
    with socket.create_connection(address, timeout=PATIENCE) as stranger, contextlib.suppress(ConnectionError):
        stranger.sendall(words)
        while stranger.recv(4096):
            pass


def flip_in_memory(pid, before):
    """Flips a bit of each copy of these bytes in the memory of a process that has stopped; how many there were."""
    flipped = 0
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, rights, *_ = line.split()
            if not rights.startswith("rw"):
                continue
            begin, end = (int(text, 16) for text in span.split("-"))
            content = b""
            with contextlib.suppress(OSError, ValueError):  # what the kernel keeps for itself
                memory.seek(begin)
                content = memory.read(end - begin)
            at = content.find(before)
            while at >= 0:
                memory.seek(begin + at)
                memory.write(bytes([before[0] ^ 4]))
                flipped += 1
                at = content.find(before, at + 1)
    return flipped


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment_of_rank(rank, ranks, port=None):
    """As torchrun gives it, with every rank on a host of its own."""
    variables = {"RANK": rank, "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": 1, "LOCAL_RANK": 0, "MASTER_ADDR": "127.0.0.1",
                 "MASTER_PORT": port or free_port()}
    return {name: str(value) for name, value in variables.items()}


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="faults-"))
        for name, seed, validation in (("tokens", 5, "hash:0.2"), ("others", 6, "hash:0.3"), ("unjudged", 7, "none")):
            cls.prepare(name, documents(seed), validation)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.scratch)

    @classmethod
    def prepare(cls, name, text, validation):
        (cls.scratch / f"{name}.txt").write_text(text)
        shoal("prepare", "--input", cls.scratch / f"{name}.txt", "--tokenizer", "byte", "--separator", r"\n\n",
              "--validation", validation, "--output", cls.scratch / name)

    def run_of(self, name, *sets, ranks=1, sources=("tokens",), launch=(), before=()):
        paths = ",".join(str(self.scratch / source) for source in sources)
        return Run(self.scratch, name, f"data.sources=[{paths}]", *MODEL, *TRAINING, *sets, ranks=ranks, launch=launch, before=before)

    def started(self, run, step):
        """The process of a run that has come to that step."""
        process = run.start()
        self.addCleanup(kill, process)
        if not run.reaches(step, process):
            self.fail(f"{run.directory.name} has ended before step {step}: {process.stderr.read()}")
        return process

    def column(self, run, name):
        return [float(row[name]) for row in run.rows() if row[name]]


class Jobs(Faults):
    def test_two_jobs_in_one_run_directory(self):
        # Steps of some milliseconds each: the first job outlives the second, which is over in a few seconds.
        run = self.run_of("owned", "train.steps=1500", "train.save_every=500")
        first = self.started(run, 5)
        began = time.monotonic()
        said = run.finish(code=2)
        # It looks for two seconds whether the owner's process is dying. The 30 s of patience are for hosts it cannot look into.
        self.assertLess(time.monotonic() - began, 20)
        self.assertIsNone(first.poll(), "the first job was over too soon to be met")
        self.assertRegex(said, rf"owned belongs to job \S+ on {re.escape(socket.gethostname())} \(process {first.pid}\) "
                               r"since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC: .*run\.take_over=true")
        end_of(first)
        self.assertEqual(list(run.figures()), list(range(1, 1501)))

        # Who was killed could not give it back.
        run_again = self.run_of("left", "train.steps=400", "train.save_every=5", "train.background_save=false")
        killed = self.started(run_again, 13)
        kill(killed)
        self.assertEqual(killed.returncode, -signal.SIGKILL)
        said = run_again.finish()
        self.assertRegex(said, rf"left is taken over from job .* \(process {killed.pid}\) since ")
        self.assertEqual(run_again.figures(), {step: row for step, row in run.figures().items() if step <= 400})
        self.assertFalse(list(run_again.directory.glob("owner-*")))


class Ranks(Faults):
    DEADLINE = 6  # seconds

    def test_a_stopped_rank_is_named_within_the_deadline(self):
        # In full_shard a call or two are under way at a time, in no_shard one for each unit. Both jobs mostly wait.
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(self.expect_named, ("full_shard", "no_shard"), (2, 1)))

    def expect_named(self, sharding, stopped):
        run = self.run_of(sharding, f"parallel.sharding={sharding}", "train.steps=1000000", f"comm.deadline={self.DEADLINE}s", ranks=3)
        launcher = self.started(run, 5)
        os.kill(ranks_of(launcher)[stopped], signal.SIGSTOP)
        began = time.monotonic()
        lines = [(time.monotonic() - began, line) for line in launcher.stderr]
        self.assertEqual(launcher.wait(PATIENCE), 75, lines)
        ended = time.monotonic() - began
        # By a call, or by rank 0's watcher, whose patience ends about as soon.
        missing = rf"(; ranks? (\d, )*{stopped}(, \d)* did not arrive|rank {stopped} does not answer for)"
        named = [when for when, line in lines if re.search(rf"rank \d: .*{missing}", line)]
        print(f"{sharding}: rank {stopped} is named after {named[0] if named else None} s, the job ends after {ended} s")
        self.assertTrue(named, lines)
        # Whoever has waited for a deadline asks the store for a moment who is missing, and for one more when another of
        # its calls is late as well. One call waited for after the other would take a deadline each.
        self.assertLess(named[0], 2 * self.DEADLINE)
        # Half a second later the launcher tells the stopped rank to go on and to end. Its peers are gone by then, which Gloo
        # does not tell a rank that sends to them: at worst it takes a deadline of its own.
        self.assertLess(ended - named[0], 2 * self.DEADLINE)
        self.assertRegex(lines[-1][1], rf"launch: rank \d .* ended with exit code 75 .*{missing}")

    def test_ranks_that_are_told_something_else(self):
        """A host with an old copy of the config or of the tokens."""
        others = str(self.scratch / "others")
        by_hand, changed = (self.scratch / f"{name}.schedule" for name in ("by_hand", "changed"))
        by_hand.write_text("rank 0: F0 F1 B0 B1\nrank 1: F0 F1 B0 B1\n")
        changed.write_text("rank 0: F0 F1 B0 B1\nrank 1: F0 B0 F1 B1\n")
        sharded = ["parallel.sharding=full_shard", "parallel.dp_shard=2"]
        staged = ["parallel.pp=2", "parallel.schedule=file", f"parallel.schedule_file={by_hand}", "train.batch=2", "train.micro_batch=1"]
        for layout, change, says in ((sharded, "optimizer.lr=1e-4", r"rank 1 was started with optimizer\.lr: 1\.0e-04, not 0\.003 as rank 0"),
                                     (sharded, f"data.sources=[{others}]", r"rank 1 was started with identity of the data: "),
                                     (staged, f"parallel.schedule_file={changed}", r"rank 1 was started with hash of the pipeline schedule: ")):
            run = self.run_of("told", "train.steps=5", *layout)
            port = free_port()
            processes = [subprocess.Popen([*run.command, *(["--set", change] if rank == 1 else [])], stdout=subprocess.DEVNULL,
                                          stderr=subprocess.PIPE, text=True, start_new_session=True,
                                          env=os.environ | environment_of_rank(rank, 2, port)) for rank in range(2)]
            for process in processes:
                self.addCleanup(kill, process)
            for process in processes:
                _, said = process.communicate(timeout=PATIENCE)
                self.assertEqual(process.returncode, 2, said)
            self.assertRegex(said, says)

    def test_every_rank_may_open_as_many_files_as_its_host_allows(self):
        run = self.run_of("descriptors", "train.steps=1000000", ranks=2, before=["prlimit", "--nofile=300:2999"])
        launcher = self.started(run, 2)
        for pid in ranks_of(launcher).values():
            self.assertRegex(pathlib.Path(f"/proc/{pid}/limits").read_text(), r"Max open files +2999 +2999 ")

    def test_a_rank_that_comes_back_with_another_config_is_left_out(self):
        file = self.scratch / "edited.yaml"
        file.write_text("optimizer: {beta2: 0.95}\n")
        run = self.run_of("edited", "train.steps=400", "parallel.sharding=no_shard", "parallel.dp_replicate=3", "comm.lost_rank=go_on", ranks=3,
                          launch=["--max-restarts", "5"])
        run.command.insert(run.command.index("train") + 1, str(file))
        process = self.started(run, 20)
        said = Said(process)
        file.write_text("optimizer: {beta2: 0.99}\n")
        os.kill(ranks_of(process)[2], signal.SIGKILL)
        said.wait_for(r"rank 2 is started with optimizer\.beta2: 0\.99, not 0\.95 as the job")
        self.assertEqual(process.wait(PATIENCE), 0, said.so_far())
        self.assertEqual(run.last_step(), 400)

    def test_a_rank_whose_peers_have_not_come_ends_at_once(self):
        """It has nothing to save, and the scheduler may not wait for it."""
        run = self.run_of("alone", "train.steps=9", "comm.rendezvous=100s")
        for number in (signal.SIGTERM, signal.SIGINT):
            process = subprocess.Popen(run.command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
                                       env=os.environ | environment_of_rank(0, 2))
            self.addCleanup(kill, process)
            until = time.monotonic() + PATIENCE
            while not any(run.directory.glob("owner-*")):  # it owns the run, and then looks for the others
                self.assertLess(time.monotonic(), until)
                time.sleep(0.005)
            process.send_signal(number)
            self.assertEqual(process.wait(10), 75, process.stderr.read())
            self.assertEqual(list(run.directory.glob("owner-*")), [])

    def test_strangers_at_the_data_ports_of_a_training_run(self):
        quiet, disturbed = (self.run_of(name, "train.steps=100", ranks=3) for name in ("quiet", "disturbed"))
        quiet.finish()
        launcher = self.started(disturbed, 3)
        at = {address: rank for rank, pid in ranks_of(launcher).items() for address in listening(pid)}
        print(f"ranks listen at {at}")
        self.assertEqual(set(at.values()), {0, 1, 2})  # else there is nobody to knock at
        for host, _ in at:
            self.assertFalse(ipaddress.ip_address(host).is_unspecified, host)
        opened = let_in(at)
        for stranger in opened.values():
            self.addCleanup(stranger.close)  # until then they are there and say nothing
        self.assertEqual([at[address] for address in opened], [0], "the store of rank 0, and nobody else, lets strangers in")
        store, = opened
        # All longer than a greeting, which is waited for a second: noise, lengths nobody would allocate, a proof that is none.
        for words in (os.urandom(4096), b"\xff" * 4096, b"GET / HTTP/1.1\r\n" * 100, b"SHOALC2\n" + bytes(4096)):
            say_until_hung_up(store, words)
        self.assertIsNone(launcher.poll(), "the run was over before the strangers were sent away")
        end_of(launcher)
        self.assertEqual(disturbed.figures(), quiet.figures())


class Numbers(Faults):
    def test_a_run_whose_every_step_is_skipped_ends(self):
        # AdamW's first step moves every weight by the learning rate, and with weights of 1000 fp16 overflows.
        run = self.run_of("skipped", "train.precision=fp16", "optimizer.lr=1000", "optimizer.warmup=0", "train.steps=1000",
                          "optimizer.skip_limit=7", ranks=2)
        said = run.finish(code=16)
        self.assertIn("the last 7 steps up to 8 were skipped, because their losses or gradients are not finite", said)
        self.assertIn("optimizer.skip_limit", said)
        self.assertEqual(self.column(run, "skipped_steps"), list(range(7)))  # of steps 1 to 7

    def test_a_step_that_is_skipped_is_repeated(self):
        # Each step multiplies the matrices by 1 - lr * weight_decay, until a product is no number any more.
        run = self.run_of("repeated", "optimizer.lr=1000", "optimizer.warmup=0", "optimizer.weight_decay=10", "train.steps=50",
                          "optimizer.skip_limit=3", ranks=2)
        said = run.finish(code=16)
        self.assertEqual(said.count("its replay computes the same result: its samples or the weights are the cause"), 1, said)

    def test_a_replay_changes_no_figure(self):
        figures = []
        for name, every in (("plain", 0), ("twice", 3)):
            run = self.run_of(name, "train.steps=13", f"train.replay_every={every}", "model.dropout=0.1", "train.micro_batch=2", ranks=2)
            run.finish()
            figures.append(run.figures())
        self.assertEqual(figures[0], figures[1])

    def test_a_bit_that_flips_in_a_live_rank(self):
        """With a learning rate of 0 weights keep the values that they are drawn with, and are found in the memory of a rank."""
        common = ["optimizer.lr=0", "train.steps=60", "train.save_every=10", "train.compare_every=7", "parallel.sharding=no_shard"]
        quiet = self.run_of("quiet-bits", *common, ranks=3)
        quiet.finish()
        file = quiet.directory / "checkpoints" / "step-000000060" / "rank-00000-00000.safetensors"
        name = "weights.blocks.0.attention.out.weight"
        run = self.run_of("flipped", *common, ranks=3, launch=["--max-restarts", "2"])
        launcher = self.started(run, 12)
        victim = ranks_of(launcher)[1]
        os.kill(victim, signal.SIGSTOP)
        self.assertGreater(flip_in_memory(victim, bytes_of(file, name)[80:144]), 0)
        os.kill(victim, signal.SIGCONT)
        said = end_of(launcher)
        self.assertRegex(said, rf"after step \d+: rank 1 on {re.escape(socket.gethostname())} holds other bits of "
                               r"blocks\.0\.attention\.out\.weight than its replicas 0, 2; this state is not saved")
        self.assertIn("restart 1 of 2", said)
        self.assertEqual(run.figures(), quiet.figures())
        same, difference = equal_checkpoints(run.directory, quiet.directory)
        self.assertTrue(same, difference)

    def test_a_nan_validation_is_never_best(self):
        # A letter that only validation has, with a weight that is infinite in fp16 until decay has made it smaller: it begins
        # as 1e5, a step leaves nine tenths of it, and 0.9^5 x 1e5 is the first below 65,520.
        self.prepare("marked", documents(8).replace("\n\n", " ") + 200 * " ~sea", "tail:0.05")
        family = ["model.positions=rotary", "model.norm=rms", "model.activation=swiglu", "model.bias=none", "model.tied=false"]
        new = self.run_of("new", *family, "train.steps=1", "optimizer.lr=0", sources=["marked"])
        new.finish()
        weights = self.scratch / "weights"
        shoal("checkpoint", "export", new.directory, "--output", weights)
        change_number(weights / "model.safetensors", "model.embed_tokens.weight", 30 * ord("~"), 1e5)
        run = self.run_of("judged", f"train.init_from={weights}", "train.precision=fp16", "train.steps=7", "train.eval_every=1",
                          "train.background_save=false", "optimizer.lr=0.01", "optimizer.warmup=0", "optimizer.weight_decay=10",
                          sources=["marked"])
        run.finish()
        losses = self.column(run, "val_loss")
        self.assertEqual([math.isfinite(loss) for loss in losses], 4 * [False] + 3 * [True])
        best = json.loads((run.directory / "checkpoints" / "best.json").read_text())
        self.assertEqual(best["value"], min(losses[4:]))

    def test_step_one_in_fp16_is_not_skipped(self):
        run = self.run_of("half", "train.precision=fp16", "train.steps=30")
        run.finish()
        self.assertEqual(self.column(run, "skipped_steps"), [0] * 30)
        losses = self.column(run, "loss")
        self.assertLess(losses[-1], 0.8 * losses[0])

    def test_a_run_in_fp32_goes_on_in_fp16(self):
        """Only fp16 has a scale of gradients to save: a run that had none begins with a new one."""
        first = self.run_of("narrower", "train.precision=fp32", "train.steps=5", "train.save_every=5")
        first.finish()
        second = self.run_of("narrower", "train.precision=fp16", "train.steps=9", "train.save_every=5")
        second.finish()
        rows = second.rows()
        self.assertEqual([int(row["step"]) for row in rows], list(range(1, 10)))
        self.assertEqual(rows[-1]["skipped_steps"], "0")

    def test_a_run_of_no_steps_ends(self):
        self.run_of("none", "train.steps=0").finish()

    def test_precisions_below_fp32_go_on_in_another_layout(self):
        """Masters and moments are cut along other borders. docs/verify.md allows a loss one epsilon of the type it is computed
        in, of its size; weights that were not loaded would show more than tenfold, as the last line says."""
        for precision, epsilon, before, after in (("bf16", 2**-7, "dp_shard 3", "tp 2"), ("fp16", 2**-10, "tp 2", "dp_shard 3")):
            common = [f"train.precision={precision}", "train.steps=24", "train.save_every=20", "train.background_save=false"]
            whole, moved = (self.run_of(f"{name}-{precision}", *common, "parallel." + layout.replace(" ", "="), ranks=int(layout[-1]))
                            for name, layout in (("whole", before), ("moved", after)))
            whole.finish()
            shutil.copytree(whole.directory, moved.directory)
            shutil.rmtree(moved.directory / "checkpoints" / "step-000000024")
            moved.finish()
            self.assertIn(after, shoal("checkpoint", "inspect", moved.directory, "--value", "layout").stdout)
            old, new = self.column(whole, "loss"), self.column(moved, "loss")
            print(f"{precision}: largest difference {max(abs(a - b) for a, b in zip(old, new, strict=True))}")
            self.assertEqual(old[:20], new[:20])  # to the bit: the new layout has not taken these steps itself
            for a, b in zip(old[20:], new[20:]):
                self.assertLess(abs(a - b), epsilon * a)
            self.assertGreater(old[0] - old[20], 10 * epsilon * old[0])


class Validation(Faults):
    SETS = ["train.precision=fp64", "train.eval_every=1"]

    def losses(self, name, *sets, **more):
        run = self.run_of(name, *self.SETS, *sets, **more)
        run.finish()
        return self.column(run, "val_loss")

    def assert_close(self, found, expected):
        """Additions in another order, of some thousand numbers in fp64."""
        self.assertEqual(len(found), len(expected))
        for a, b in zip(found, expected):
            self.assertLess(abs(a - b), 1e-12 * abs(b))

    def test_validation_is_the_same_on_every_layout(self):
        # 7 sequences are divided evenly neither among ranks nor into micro-batches, and 2 are fewer than there are ranks.
        sets = ["train.steps=3", "train.eval_batches=3", "train.micro_batch=2"]
        alone = self.losses("judged-by-1", *sets)
        self.assertEqual(len(set(alone)), 3)
        for ranks in (2, 3):
            self.assert_close(self.losses(f"judged-by-{ranks}", *sets, ranks=ranks), alone)

    def test_every_source_is_asked(self):
        # A learning rate of 0 leaves the first weights to all of them. Every target counts alike, so losses are means of means.
        sets = ["train.steps=1", "optimizer.lr=0", "data.order=sequential", "data.separate_documents=false"]
        one, = self.losses("one", *sets, "train.eval_batches=1", sources=["tokens"])
        other, = self.losses("other", *sets, "train.eval_batches=1", sources=["others"])
        self.assertGreater(abs(one - other), 1e-6)
        both = self.losses("both", *sets, "train.eval_batches=2", sources=["tokens", "others"], ranks=2)
        self.assert_close(both, [(one + other) / 2])
        second = self.losses("second", *sets, "train.eval_batches=1", sources=["unjudged", "others"])
        self.assert_close(second, [other])


class Files(Faults):
    def test_a_file_system_that_cannot_sync_a_directory_saves_all_the_same(self):
        """Some network file systems refuse fsync of a directory. A library between shoal and the kernel does so here."""
        source, library = self.scratch / "refuse.c", self.scratch / "refuse.so"
        source.write_text("""
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <errno.h>
            #include <sys/stat.h>
            int fsync(int fd) {
              struct stat is;
              if (fstat(fd, &is) == 0 && S_ISDIR(is.st_mode)) { errno = EINVAL; return -1; }
              return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
            }""")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        run = self.run_of("unsynced", "train.steps=9", "train.save_every=3", "train.background_save=false")
        os.environ["LD_PRELOAD"] = str(library)
        try:
            said = run.finish()
        finally:
            del os.environ["LD_PRELOAD"]
        self.assertEqual(said.count(" is saved: "), 3, said)
        self.assertEqual(said.count("cannot be synced"), 1, said)

    def on_a_full_disk(self, name, *words, **more):
        """A run whose disk has just become full: the run, its process, what it says, and the file that takes all space."""
        run = self.run_of(name, *words, **more)
        run.directory.mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", run.directory], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", run.directory], check=True)
        process = self.started(run, 50)
        said = Said(process)
        filler = run.directory / "filler"
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
        said.wait_for("rows of metrics.csv are kept until they can be written")
        return run, process, said, filler

    @unittest.skipUnless(os.getuid() == 0, "mounting needs root")
    def test_a_full_disk(self):
        """Training goes on, and rows that could not be written are written when there is space again. Whoever is stopped or loses a
        rank meanwhile goes on from the checkpoint before."""
        words = ["train.steps=700", "train.save_every=100"]
        whole = self.run_of("space", *words)
        whole.finish()

        run, process, said, filler = self.on_a_full_disk("no_space", *words)
        filler.unlink()
        said.wait_for("metrics.csv is written again, without 0 rows")
        self.assertEqual(process.wait(PATIENCE), 0, said.so_far())
        self.assertEqual(run.figures(), whole.figures())
        self.assertTrue(*equal_checkpoints(whole.directory, run.directory))

        run, process, said, filler = self.on_a_full_disk("stopped", *words)
        process.terminate()
        self.assertEqual(process.wait(PATIENCE), 75, said.so_far())
        self.assertRegex(said.so_far(), r"which is not saved in ")
        self.assertRegex(run.finish(code=74), r"No space left on device")
        filler.unlink()
        run.finish()
        self.assertEqual(run.figures(), whole.figures())
        self.assertTrue(*equal_checkpoints(whole.directory, run.directory))

    @unittest.skipUnless(os.getuid() == 0, "mounting needs root")
    def test_a_rank_is_lost_while_the_disk_is_full(self):
        words = ["train.steps=400", "train.save_every=100"]
        whole = self.run_of("two_ranks", *words, ranks=2)
        whole.finish()
        run, process, said, filler = self.on_a_full_disk("two_ranks_no_space", *words, ranks=2, launch=["--max-restarts", "20"])
        os.kill(ranks_of(process)[1], signal.SIGKILL)
        said.wait_for(r"ended with exit code 74 .*No space left on device")
        filler.unlink()
        self.assertEqual(process.wait(PATIENCE), 0, said.so_far())
        self.assertEqual(run.figures(), whole.figures())
        self.assertTrue(*equal_checkpoints(whole.directory, run.directory))

    def of_two_hosts(self, run, covered):
        """Both ranks of a run; to the first, its checkpoints are not there: another directory is mounted over them."""
        port = free_port()
        (self.scratch / "nothing").mkdir(exist_ok=True)
        cover = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', self.scratch / "nothing", covered]
        processes = []
        for rank in range(2):
            processes.append(subprocess.Popen([*map(str, cover if rank == 0 else []), *run.command], stdout=subprocess.DEVNULL,
                                              stderr=subprocess.PIPE, text=True, start_new_session=True,
                                              env=os.environ | environment_of_rank(rank, 2, port)))
            self.addCleanup(kill, processes[-1])
        return processes

    @unittest.skipUnless(os.getuid() == 0, "mounting needs root")
    def test_a_stale_view_of_a_shared_file_system(self):
        """Rank 0 on a host that has not heard of the newest checkpoint must not begin anew."""
        words = ["train.steps=9", "train.save_every=3", "train.background_save=false", "parallel.sharding=full_shard", "comm.deadline=60s"]
        whole = self.run_of("seen", *words, ranks=2)
        whole.finish()
        stale = self.run_of("stale", *words, ranks=2)
        process = self.started(stale, 4)
        kill(process)
        steps = len(stale.rows())
        stale.command = self.run_of("stale", *words).command
        covered = stale.directory / "checkpoints"
        first, second = self.of_two_hosts(stale, covered)
        said = ""
        while "but rank 0 does not: it looks again" not in said:
            line = first.stderr.readline()
            self.assertTrue(line, said)
            said += line
        self.assertEqual(len(stale.rows()), steps)
        subprocess.run(["nsenter", "--mount", f"--target={first.pid}", "umount", covered], check=True)
        end_of(second)
        end_of(first)
        self.assertEqual(stale.figures(), whole.figures())
        same, shown = equal_checkpoints(stale.directory, whole.directory)
        self.assertTrue(same, shown)

    @unittest.skipUnless(os.getuid() == 0, "mounting needs root")
    def test_a_file_system_that_is_not_mounted_on_the_first_host(self):
        words = ["train.steps=3", "train.save_every=3", "parallel.sharding=full_shard"]
        self.run_of("unmounted", *words, ranks=2).finish()
        again = self.run_of("unmounted", *words, "train.steps=5", "comm.deadline=4s")
        first, second = self.of_two_hosts(again, again.directory / "checkpoints")
        for process in (second, first):
            self.assertRegex(end_of(process, code=3), "step-000000003, but rank 0 does not: its host has an old view of this file system")
        self.assertEqual(len(again.rows()), 3)


if __name__ == "__main__":
    unittest.main()
