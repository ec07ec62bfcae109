#!/usr/bin/env python3
"""tools/gate.py, copied into a small repository with tests of its own: turns, changes, live tests that fail, and lists out of order."""
import csv
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["SHOAL_SOURCE_DIR"])
TURNS = 12
# Test -> command and labels.
TESTS = {
    "plain": ("true", ["unit", "from:tests/plan"]),
    "seldom": ("true", ["dist", "turn:1/3", "from:tests/comm"]),
    "at_night": ("true", ["e2e", "nightly", "from:tests/e2e"]),
    "alive": ("true", ["e2e", "live", "from:tests/e2e"]),
}


class Gate(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        (self.root / "tools").mkdir()
        for name in ("gate.py", "check_skips.py"):
            shutil.copy(SOURCE / "tools" / name, self.root / "tools")
        self.write("CMakePresets.json", json.dumps({
            "version": 4, "configurePresets": [{"name": "release", "binaryDir": "${sourceDir}/build/release"}],
            "testPresets": [{"name": "release", "configurePreset": "release", "output": {"outputOnFailure": True}}]}))
        self.write("tests/live.txt", "alive\n")
        self.write("tests/quarantine.tsv", "test\tsince\treason\n")
        self.write("tests/costs.tsv", "tree\tname\tturn\tcpu_seconds\n")
        self.write("docs/nightly.tsv", "commit\tdate\tpart\tresult\tseconds\tseed\tlive\n")
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
            self.git(*words)
        self.set_tests(TESTS)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example", *words], cwd=self.root, check=True, capture_output=True)

    def set_tests(self, tests):
        lines = []
        for name, (command, labels) in tests.items():
            lines.append(f"add_test({name} bash -c [==[{command}]==])")
            lines.append(f'set_tests_properties({name} PROPERTIES LABELS "{";".join(labels)}")')
        self.write("build/release/CTestTestfile.cmake", "\n".join(lines))

    def gate(self, *words, turn=0, code=0, **variables):
        environment = {**os.environ, "CI_TURN": str(turn), **variables}
        done = subprocess.run(["tools/gate.py", *words], cwd=self.root, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def selected(self, **options):
        self.gate("select", "release", **options)
        parts = [(self.root / "build/release/gate" / part).read_text() for part in ("first", "changed", "ranks", "rest")]
        return {name for part in parts if part for name in part.removeprefix("^(").removesuffix(")$").split("|")}

    def run_failing(self, name, command, code, *options):
        self.set_tests({**TESTS, name: (command, TESTS[name][1])})
        self.gate("select", "release")
        return self.gate("run", "release", "first", "changed", "ranks", "rest", *options, code=code)

    def test_each_turn_runs_its_share(self):
        for turn in range(TURNS):
            self.assertEqual(self.selected(turn=turn), {"plain", "alive"} | ({"seldom"} if turn % 3 == 1 else set()), turn)

    def test_changed_tests_join_a_turn_while_its_budget_lasts(self):
        base = subprocess.run(["git", "rev-parse", "HEAD"], cwd=self.root, capture_output=True, text=True).stdout.strip()
        self.write("docs/nightly.tsv", f"commit\tdate\tpart\tresult\tseconds\tseed\tlive\n{base}\t2026-01-01T00:00Z\t1/4\tgreen\t1\t1\t\n")
        self.write("shoal/comm/group.cpp", "")
        self.git("add", "-A")
        self.assertIn("seldom", self.selected())
        self.assertNotIn("at_night", self.selected())
        self.git("commit", "-m", "second")
        self.assertNotIn("seldom", self.selected(CI_BASE="HEAD"))
        self.write("tests/costs.tsv", "tree\tname\tturn\tcpu_seconds\nrelease\tplain\tevery\t100000\nrelease\tseldom\t1/3\t7\n")
        self.assertNotIn("seldom", self.selected())
        self.assertIn("changed, but left to tools/nightly.sh: seldom", self.gate("select", "release"))

    def test_a_live_test_that_failed_once_is_accepted_and_reported(self):
        said = self.run_failing("alive", f"test -e {self.root}/again || {{ touch {self.root}/again; exit 1; }}", 0)
        self.assertIn("LIVE TESTS FAILED, and run 3 times alone: alive", said)
        self.assertIn("FAILED ONCE and passed 3 times: alive", (self.root / "build/steps.tsv").read_text())
        self.assertIn("alive", (self.root / "build/release/live.log").read_text())

    def test_a_live_test_has_to_pass_each_of_the_three_times(self):
        said = self.run_failing("alive", f"echo x >>{self.root}/runs; test $(wc -l <{self.root}/runs) != 4 -a $(wc -l <{self.root}/runs) != 1", 1)
        self.assertIn("FAILED AGAIN: alive", said)

    def test_any_other_failure_is_final(self):
        said = self.run_failing("plain", f"echo x >>{self.root}/runs; false", 1)
        self.assertIn("FAILED: plain", said)
        self.assertEqual((self.root / "runs").read_text(), "x\n")

    def test_processes_in_the_background_are_stopped_while_a_live_test_runs_again(self):
        sleeper = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        state = f"/proc/{sleeper.pid}/stat"
        command = f"test -e {self.root}/again && [[ $(cat {state}) == *') T '* ]] || {{ touch {self.root}/again; exit 1; }}"
        self.run_failing("alive", command, 0, "--pause", str(sleeper.pid))
        self.assertNotIn(") T ", pathlib.Path(state).read_text())

    def test_the_background_may_have_ended(self):
        ended = subprocess.Popen(["true"], start_new_session=True)
        ended.wait()
        self.run_failing("alive", f"test -e {self.root}/again || {{ touch {self.root}/again; exit 1; }}", 0, "--pause", str(ended.pid))

    def test_a_skip_without_a_permitted_reason_fails(self):
        said = self.run_failing("plain", "echo 'skipped: no time'", 1)
        self.assertIn("must not be: plain: no time", said)

    def test_lists_out_of_order_are_named(self):
        self.assertIn("1 live tests, 0 in quarantine, 0 problems", self.gate("check"))
        self.write("tests/live.txt", "b\na\n")
        self.write("tests/quarantine.tsv", "test\tsince\treason\nplain\t2026-01-01\tslow\nalive\t2999-01-01\t\n")
        self.assertIn("3 problems", self.gate("check", code=1))

    def test_quarantined_tests_do_not_run(self):
        self.write("tests/quarantine.tsv", "test\tsince\treason\nplain\t2999-01-01\tslow\n")
        self.assertEqual(self.selected(), {"alive"})

    def test_costs_are_recorded_with_the_turns_of_tests(self):
        self.write("build/release/costs.tsv", "plain\t1.5\nseldom\t2.5\n")
        self.write("build/steps.tsv", "release: build\t9\t10\t11\nrelease: unit tests\t1\t2\t3\n")
        self.gate("record", "release")
        with (self.root / "tests/costs.tsv").open(newline="") as file:
            rows = [(row["tree"], row["name"], row["turn"], row["cpu_seconds"])
                    for row in csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t")]
        self.assertEqual(rows, [("release", "plain", "every", "1.5"), ("release", "seldom", "1/3", "2.5"), ("step", "release: build", "every", "11.0")])


if __name__ == "__main__":
    signal.alarm(300)
    unittest.main()
