#!/usr/bin/env python3
"""`shoal launch --hostfile` on two hosts with an sshd each: ranks meet, signals arrive, nothing is left behind, no secret is on a command
line, and a job whose ranks are killed on either host is started again and has the bits of one that was left alone. When a host is
lost for good the job goes on with the other, on a layout that is found for it.

    SHOAL_SOURCE_DIR=. SHOAL_BINARY_DIR=build/release tests/e2e/ssh_test.py [--faults 2] [--long]
"""
import argparse
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from faulty_runs import restarts_of
from training_runs import ENDLESS, PATIENCE, SAVES_EVERY_STEP, SHOAL, REQUEUE, SEED, Run, end_of, goes_until, is_alike, kill, shoal

SOURCE = pathlib.Path(os.environ["SHOAL_SOURCE_DIR"]).resolve()
HOSTS = str(SOURCE / "tests/testbed/hosts")
FIRST = ["ip", "netns", "exec", "shoal-1"]  # the host that the user sits at
COMMON = ["train.eval_every=0", "train.batch=8", "train.micro_batch=2", "train.save_every=2", "train.threads=1", "model.layers=2",
          "model.width=24", "model.heads=3", "model.context=17", "model.dropout=0.1", "parallel.tp=2", "comm.deadline=20s", ENDLESS]


def skip(why):
    print(f"skipped: {why}", file=sys.stderr)
    sys.exit(77)


def until(what, holds):
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, f"not within {PATIENCE} s: {what}"
        time.sleep(0.02)


class Hosts:
    """Two hosts with an sshd each, and a client that knows them."""

    def __init__(self, scratch):
        self.scratch = scratch
        subprocess.run([HOSTS, "down", "2"], check=False)
        if subprocess.run([HOSTS, "up", "2", "1gbit"], check=False).returncode != 0:
            skip("this kernel gives no network namespaces with shaped links")
        os.makedirs("/run/sshd", exist_ok=True)
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", scratch / name], check=True)
        (scratch / "client").write_text(
            f"Host *\n  IdentityFile {scratch}/user\n  IdentitiesOnly yes\n  UserKnownHostsFile {scratch}/known\n"
            "  StrictHostKeyChecking accept-new\n  LogLevel ERROR\n")
        self.daemons = [subprocess.Popen(
            ["ip", "netns", "exec", f"shoal-{host}", "/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-o", f"ListenAddress=10.77.0.{host}",
             "-o", f"HostKey={scratch}/host", "-o", f"AuthorizedKeysFile={scratch}/user.pub", "-o", "StrictModes=no", "-o", "PidFile=none",
             "-o", "UsePAM=no", "-o", "PermitRootLogin=yes"], stderr=(scratch / f"sshd{host}").open("w")) for host in (1, 2)]
        for host in (1, 2):
            until("an sshd", lambda host=host: "listening" in (scratch / f"sshd{host}").read_text())
        (scratch / "hosts.txt").write_text("# two of them\n10.77.0.1 slots=2\n10.77.0.2 slots=2\n")
        os.environ["SHOAL_SSH"] = f"ssh -F {scratch}/client"

    def down(self):
        for daemon in self.daemons:
            daemon.kill()
            daemon.wait()
        subprocess.run([HOSTS, "down", "2"], check=False)

    def launch(self, *words):
        return subprocess.Popen([*FIRST, SHOAL, "launch", "--hostfile", self.scratch / "hosts.txt", *words], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True, cwd=self.scratch)


def processes(word):
    """Rank -> process, of those with this word on their command line."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            variables = (path / "environ").read_bytes().decode(errors="replace").split("\0")
            words = (path / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        rank = next((text.removeprefix("SHOAL_RANK=") for text in variables if text.startswith("SHOAL_RANK=")), None)
        if rank is not None and any(word in text for text in words):
            found[int(rank)] = int(path.name)
    return found


def meets(hosts):
    process = hosts.launch("--", "doctor")
    out, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    assert "these ranks train like one" in out and re.search(r"^  ranks +4$", out, re.M) and re.search(r"^  nodes +2$", out, re.M), out
    print("ok: four ranks on two hosts meet and train like one")


def shows_the_lines(hosts):
    process = hosts.launch("--dry-run", "--", "train", "it's.yaml")
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and out.count("ssh -F") == 2 and "--host 1 --attached --address 10.77.0.1" in out, out
    print("ok: --dry-run shows the lines")


# Each rank waits, and says when it is told to end. The word behind the script is how it is found.
WAITS = "trap 'echo rank $SHOAL_RANK saves; exit 75' TERM; : >up.$SHOAL_RANK; while :; do sleep 0.05; done"


def waiting_job(hosts, word, *options):
    process = hosts.launch(*options, "--", "/bin/sh", "-c", WAITS, word)
    up = [hosts.scratch / f"up.{rank}" for rank in range(4)]
    until("four ranks", lambda: all(path.exists() for path in up))
    for path in up:
        path.unlink()
    return process


def passes_signals_on(hosts):
    process = waiting_job(hosts, "signalled")
    lines = [path.read_bytes() for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(re.search(rb"[0-9a-f]{64}", line) for line in lines), "a secret is on a command line"
    process.send_signal(signal.SIGTERM)
    out, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 75, said
    assert all(f"rank {rank} saves" in out for rank in range(4)), out
    assert re.search(r"launch: passed SIGTERM on; rank \d on 10\.77\.0\.\d ", said), said
    print("ok: SIGTERM reaches the ranks of both hosts, and no secret is on a command line")


def leaves_nothing_behind(hosts):
    for victim in ("launcher", "ssh"):
        process = waiting_job(hosts, f"left-{victim}")
        if victim == "launcher":
            process.kill()
        else:
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            os.kill(int(children[1]), signal.SIGKILL)
        _, said = process.communicate(timeout=PATIENCE)
        assert victim == "launcher" or "launch: the launcher on 10.77.0.2" in said, said
        until("no rank is left", lambda victim=victim: not processes(f"left-{victim}"))
    print("ok: no rank is left when the launcher or a connection is killed")


def restarts(scratch, faults, chance):
    words = [f"data.sources=[{scratch / 'tokens'}]", *COMMON]
    struck = Run(scratch, "struck", *words, ranks=2, before=FIRST, launch=("--hostfile", str(scratch / "hosts.txt"), "--max-restarts", "50"))
    process = struck.start()
    named = []
    try:
        for fault in range(faults):
            assert struck.reaches(20 * fault + 10, process), process.stderr.read()
            until("all ranks", lambda: len(processes("run.name=struck")) == 4)
            ranks = processes("run.name=struck")
            rank = chance.choice([(2, 3), (0, 1)][fault % 2])
            os.kill(ranks[rank], signal.SIGKILL)
            named.append(rf"launch: rank {rank} on 10\.77\.0\.{rank // 2 + 1} \(pid {ranks[rank]}\) was killed by SIGKILL in step \d+")
            until("it is started again", lambda: len(restarts_of(struck)) > fault)
        assert struck.reaches(20 * faults + 10, process), process.stderr.read()
        process.send_signal(signal.SIGTERM)
    except BaseException:
        kill(process)
        raise
    said = end_of(process, REQUEUE)
    for line in named:
        assert re.search(line, said), f"no '{line}' in\n{said}"
    whole = Run(scratch, "whole", *words, *SAVES_EVERY_STEP, ranks=4)
    goes_until(whole, struck.last_step())
    same, difference = is_alike(struck, whole, struck.last_step())
    assert same, difference
    print(f"ok: {faults} ranks were killed on two hosts, named with their hosts, and the run has the bits of one that was left alone")


def kill_second_host():
    for pid in subprocess.run(["ip", "netns", "pids", "shoal-2"], capture_output=True, text=True, check=True).stdout.split():
        os.kill(int(pid), signal.SIGKILL)


def cut_second_host_off():
    """Its link stays up, and nothing comes or goes through it: as if it had no power."""
    subprocess.run(["ip", "-n", "shoal-switch", "link", "set", "port2", "nomaster"], check=True)


def connect_second_host():
    subprocess.run(["ip", "-n", "shoal-switch", "link", "set", "port2", "master", "bridge0"], check=True)


def goes_on_after(run):
    """The step after which a run goes on with the first host; nothing before it does."""
    found = [re.search(r"goes on after step (\d+); 10\.77\.0\.2 cannot be reached", row["text"]) for row in restarts_of(run)]
    return next((int(match[1]) for match in found if match), None)


def loses_a_host(scratch, name, lose, *launch):
    """The second host cannot be reached any more."""
    words = [f"data.sources=[{scratch / 'tokens'}]", *COMMON, "parallel.pp=2", "train.background_save=false", "train.keep=100000",
             f"plan.cluster={SOURCE / 'clusters/xeon_amx.yaml'}", "plan.other_ranks=search"]
    struck = Run(scratch, name, *words, ranks=2, before=FIRST,
                 launch=("--hostfile", str(scratch / "hosts.txt"), "--min-hosts", "1", *launch))
    process = struck.start()
    try:
        assert struck.reaches(11, process), process.stderr.read()
        lose()
        began = time.monotonic()
        until("it goes on without the host", lambda: goes_on_after(struck) is not None)
        kept = goes_on_after(struck)
        assert struck.reaches(kept + 20, process), process.stderr.read()
        took = time.monotonic() - began
        process.send_signal(signal.SIGTERM)
    except BaseException:
        kill(process)
        raise
    said = end_of(process, REQUEUE)
    assert "launch: 10.77.0.2 cannot be reached: goes on with 1 of 2 hosts" in said, said
    layout = re.search(r"cannot be run on 2 ranks; found instead: (.*)", said)
    assert layout, said
    assert kept >= 10, kept
    steps = struck.last_step()
    for ranks, last in ((4, kept), (2, steps)):
        told = Run(scratch, f"{name}_told", *words, *SAVES_EVERY_STEP, ranks=ranks)
        goes_until(told, last)
    same, difference = is_alike(struck, told, steps)
    assert same, difference
    print(f"ok: a host is lost for good ({name}): the run goes on after step {kept} on the other, with {layout[1]}, and the bits of one that"
          f" was told to; twenty steps on after {took:.1f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=2)
    parser.add_argument("--long", action="store_true", help="with the usual times: two minutes more")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    if os.getuid() != 0:
        skip("network namespaces need root")
    if not shutil.which("ip") or not os.path.exists("/usr/sbin/sshd"):
        skip("needs iproute2 and openssh-server (tools/deps.sh check)")
    print(f"seed {options.seed}")
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        hosts = Hosts(scratch)
        try:
            shows_the_lines(hosts)
            meets(hosts)
            passes_signals_on(hosts)
            leaves_nothing_behind(hosts)
            shoal("prepare", "--input", SOURCE / "CONTRIBUTING.md", "--tokenizer", "byte", "--validation", "none", "--output", scratch / "tokens")
            restarts(scratch, options.faults, random.Random(options.seed))
            loses_a_host(scratch, "cut_off", cut_second_host_off, "--grace", "2")
            connect_second_host()
            if options.long:  # until ssh gives up
                loses_a_host(scratch, "cut_off_long", cut_second_host_off, "--max-restarts", "50")
                connect_second_host()
            loses_a_host(scratch, "killed", kill_second_host, "--max-restarts", "50", "--grace", "2")
        finally:
            hosts.down()


if __name__ == "__main__":
    main()
