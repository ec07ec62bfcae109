#!/usr/bin/env python3
"""Runs of shoal train on file systems that are full, cannot sync, or show hosts different things. Nothing is lost by that.

    SHOAL_BINARY_DIR=build/release tests/e2e/storage_faults_test.py [Files.test_a_full_disk ...]
"""
import contextlib
import os
import signal
import subprocess
import unittest

from faulty_runs import Said
from small_runs import SmallRuns, environment_of_rank, free_port
from training_runs import ENDLESS, PATIENCE, REQUEUE, end_of, equal_checkpoints, goes_until, is_alike, kill, load_tests, ranks_of, stop  # noqa: F401


class Files(SmallRuns):
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

    def on_a_full_disk(self, name, **more):
        """A run whose disk has just become full: the run, its process, what it says, and the file that takes all space."""
        run = self.run_of(name, ENDLESS, "train.save_every=100", **more)
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

    def stops_like_one_with_space(self, run, process, said, ranks=1):
        """It goes on, also beyond where it was, and has the figures and the checkpoint of a run whose disk had space."""
        self.assertTrue(run.reaches(run.last_step() + 100, process), said.so_far())
        steps = stop(run, process)
        self.assertEqual(process.returncode, REQUEUE, said.so_far())
        whole = self.run_of(f"space_for_{run.directory.name}", ENDLESS, f"train.save_every={steps}", "train.background_save=false", ranks=ranks)
        goes_until(whole, steps)
        self.assertTrue(*is_alike(run, whole, steps))

    @unittest.skipUnless(os.getuid() == 0, "mounting needs root")
    def test_a_full_disk(self):
        """Training goes on, and rows that could not be written are written when there is space again. Whoever is stopped or loses a
        rank meanwhile goes on from the checkpoint before."""
        run, process, said, filler = self.on_a_full_disk("no_space")
        filler.unlink()
        said.wait_for("metrics.csv is written again, without 0 rows")
        self.stops_like_one_with_space(run, process, said)

        run, process, said, filler = self.on_a_full_disk("stopped")
        process.terminate()
        self.assertEqual(process.wait(PATIENCE), REQUEUE, said.so_far())
        self.assertRegex(said.so_far(), r"which is not saved in ")
        self.assertRegex(run.finish(code=74), r"No space left on device")
        filler.unlink()
        process = run.start()
        self.addCleanup(kill, process)
        self.stops_like_one_with_space(run, process, Said(process))

    @unittest.skipUnless(os.getuid() == 0, "mounting needs root")
    def test_a_rank_is_lost_while_the_disk_is_full(self):
        run, process, said, filler = self.on_a_full_disk("two_ranks", ranks=2, launch=["--max-restarts", "20"])
        os.kill(ranks_of(process)[1], signal.SIGKILL)
        said.wait_for(r"ended with exit code 74 .*No space left on device")
        filler.unlink()
        self.stops_like_one_with_space(run, process, said, ranks=2)

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
