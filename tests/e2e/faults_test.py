#!/usr/bin/env python3
"""Runs of shoal train that something goes wrong with: other jobs, ranks that stop, ranks that are told something else, strangers.
What is said, with which exit code, how soon, and that a run which goes on is not changed by it.

    SHOAL_BINARY_DIR=build/release tests/e2e/faults_test.py [Ranks.test_ranks_that_are_told_something_else ...]
"""
import concurrent.futures
import contextlib
import ipaddress
import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import time
import unittest

from faulty_runs import Said
from small_runs import SmallRuns, environment_of_rank, free_port
from training_runs import ENDLESS, NIGHTLY, PATIENCE, REQUEUE, end_of, kill, load_tests, ranks_of  # noqa: F401


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


class Jobs(SmallRuns):
    def test_two_jobs_in_one_run_directory(self):
        run = self.run_of("owned", ENDLESS)
        first = self.started(run, 5)
        began = time.monotonic()
        said = run.finish(code=2)
        if NIGHTLY:  # it waits 2 s for the owner's process to end, and not the 30 s that another host would get
            self.assertLess((time.monotonic() - began) / 30, 0.6)
        self.assertRegex(said, rf"owned belongs to job \S+ on {re.escape(socket.gethostname())} \(process {first.pid}\) "
                               r"since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC: .*run\.take_over=true")
        self.assertTrue(run.reaches(400, first))
        first.terminate()
        end_of(first, code=REQUEUE)
        self.assertEqual(list(run.figures()), list(range(1, run.last_step() + 1)))

        # Who was killed could not give it back.
        run_again = self.run_of("left", "train.steps=400", "train.save_every=5", "train.background_save=false")
        killed = self.started(run_again, 13)
        kill(killed)
        self.assertEqual(killed.returncode, -signal.SIGKILL)
        said = run_again.finish()
        self.assertRegex(said, rf"left is taken over from job .* \(process {killed.pid}\) since ")
        self.assertEqual(run_again.figures(), {step: row for step, row in run.figures().items() if step <= 400})
        self.assertFalse(list(run_again.directory.glob("owner-*")))


class Ranks(SmallRuns):
    DEADLINE = 6  # seconds

    def test_a_stopped_rank_is_named_within_the_deadline(self):
        # In full_shard a call or two are under way at a time, in no_shard one for each unit. Both jobs mostly wait.
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(self.expect_named, ("full_shard", "no_shard"), (2, 1)))

    def expect_named(self, sharding, stopped):
        run = self.run_of(sharding, f"parallel.sharding={sharding}", ENDLESS, f"comm.deadline={self.DEADLINE}s", ranks=3)
        launcher = self.started(run, 5)
        os.kill(ranks_of(launcher)[stopped], signal.SIGSTOP)
        began = time.monotonic()
        lines = [(time.monotonic() - began, line) for line in launcher.stderr]
        self.assertEqual(launcher.wait(PATIENCE), REQUEUE, lines)
        ended = time.monotonic() - began
        # By a call, or by rank 0's watcher, whose patience ends about as soon.
        missing = rf"(; ranks? (\d, )*{stopped}(, \d)* did not arrive|rank {stopped} does not answer for)"
        named = [when for when, line in lines if re.search(rf"rank \d: .*{missing}", line)]
        print(f"{sharding}: rank {stopped} is named after {named[0] if named else None} s, the job ends after {ended} s")
        self.assertTrue(named, lines)
        # Whoever has waited for a deadline asks the store for a moment who is missing, and for one more when another of
        # its calls is late as well. One call waited for after the other would take a deadline each.
        if NIGHTLY:
            self.assertLess(named[0] / self.DEADLINE, 2)
        # Half a second later the launcher tells the stopped rank to go on and to end. Its peers are gone by then, which Gloo
        # does not tell a rank that sends to them: at worst it takes a deadline of its own.
        if NIGHTLY:
            self.assertLess((ended - named[0]) / self.DEADLINE, 2)
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
        run = self.run_of("descriptors", ENDLESS, ranks=2, before=["prlimit", "--nofile=300:2999"])
        launcher = self.started(run, 2)
        for pid in ranks_of(launcher).values():
            self.assertRegex(pathlib.Path(f"/proc/{pid}/limits").read_text(), r"Max open files +2999 +2999 ")

    def test_a_rank_that_comes_back_with_another_config_is_left_out(self):
        file = self.scratch / "edited.yaml"
        file.write_text("optimizer: {beta2: 0.95}\n")
        run = self.run_of("edited", ENDLESS, "parallel.sharding=no_shard", "parallel.dp_replicate=3", "comm.lost_rank=go_on", ranks=3,
                          launch=["--max-restarts", "5"])
        run.command.insert(run.command.index("train") + 1, str(file))
        process = self.started(run, 20)
        said = Said(process)
        file.write_text("optimizer: {beta2: 0.99}\n")
        os.kill(ranks_of(process)[2], signal.SIGKILL)
        said.wait_for(r"rank 2 is started with optimizer\.beta2: 0\.99, not 0\.95 as the job")
        self.assertTrue(run.reaches(run.last_step() + 20, process))
        process.terminate()
        self.assertEqual(process.wait(PATIENCE), REQUEUE, said.so_far())

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
            self.assertEqual(process.wait(PATIENCE), 75, process.stderr.read())
            self.assertEqual(list(run.directory.glob("owner-*")), [])

    def test_strangers_at_the_data_ports_of_a_training_run(self):
        quiet, disturbed = (self.run_of(name, steps, ranks=3) for name, steps in (("quiet", "train.steps=100"), ("disturbed", ENDLESS)))
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
        self.assertTrue(disturbed.reaches(100, launcher))
        launcher.terminate()
        end_of(launcher, code=REQUEUE)
        self.assertEqual({step: row for step, row in disturbed.figures().items() if step <= 100}, quiet.figures())


if __name__ == "__main__":
    unittest.main()
