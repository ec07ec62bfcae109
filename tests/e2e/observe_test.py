#!/usr/bin/env python3
"""What can be seen of a run from outside: traces of chosen steps beside the program that the plan prints, the report's picture of them, and
what Prometheus's own parser reads from a run that goes on and is pestered."""
import json
import pathlib
import random
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

try:
    from prometheus_client.parser import text_string_to_metric_families
except ImportError as missing:
    print(f"skipped: {missing} (tools/deps.sh check)")
    sys.exit(77)

from training_runs import SHOAL, documents, kill, rows_of, shoal

# Two pipelines of two stages, odd sizes, three micro-batches of which the last is smaller.
CONFIG = """
model: {layers: 3, heads: 3, width: 30, context: 23, vocab_size: 257}
data: {sources: [tokens]}
parallel: {pp: 2, dp_shard: 2}
train: {batch: 10, micro_batch: 2, threads: 1, steps: 5, log_every: 20, eval_every: 0, save_every: 0, trace_steps: [2, 4]}
"""
RANKS = 4
PHASES = {"X": {"ts", "dur", "cat", "args"}, "M": {"args"}, "s": {"ts", "id", "cat"}, "f": {"ts", "id", "cat", "bp"}}


def inside(inner, outer):
    return outer["ts"] - 1e-3 <= inner["ts"] and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 2e-3


class Observed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="observe-"))
        (cls.scratch / "text.txt").write_text(documents(seed=9))
        shoal("prepare", "--input", "text.txt", "--tokenizer", "byte", "--output", "tokens", cwd=cls.scratch)
        (cls.scratch / "config.yaml").write_text(CONFIG)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.scratch)


class Traces(Observed):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.said = shoal("launch", "--ranks", RANKS, "--", "train", "config.yaml", "--set", "run.name=traced", cwd=cls.scratch).stderr
        cls.run_directory = cls.scratch / "runs" / "traced"
        cls.files = sorted(cls.run_directory.glob("trace-*"))
        cls.trace = json.loads(cls.files[-1].read_text())
        cls.events = cls.trace["traceEvents"]
        cls.slices = [event for event in cls.events if event["ph"] == "X"]

    def of(self, rank, kind):
        return sorted((each for each in self.slices if each["pid"] == rank and each["cat"] == kind), key=lambda each: each["ts"])

    def test_chosen_steps_have_a_file_that_others_may_not_read(self):
        self.assertEqual([file.name for file in self.files], ["trace-step-000002.json", "trace-step-000004.json"])
        for file in self.files:
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o640)
        self.assertEqual(self.trace["otherData"]["step"], 4)
        self.assertEqual(self.trace["otherData"]["slices_left_out"], 0)
        self.assertRegex(self.said, r"step 4 is traced in \S+trace-step-000004.json: .*the ranks' clocks agree within \d+ us")

    def test_events_are_those_of_the_format(self):
        for event in self.events:
            self.assertIn(event["ph"], PHASES, event)
            self.assertLessEqual(PHASES[event["ph"]] | {"name", "pid", "tid"}, set(event), event)
            self.assertIsInstance(event.get("id", 0), int, "Perfetto takes no text")
            for key in {"ts", "dur"} & set(event):
                self.assertGreaterEqual(event[key], 0, event)
        names = {event["pid"]: event["args"]["name"] for event in self.events if event["name"] == "process_name"}
        self.assertEqual(names, {rank: f"rank {rank} on {socket.gethostname()}, pp {rank // 2} dp_shard {rank % 2}" for rank in range(RANKS)})

    def test_a_lane_is_one_rank_s_and_no_viewer_takes_it_for_a_main_thread(self):
        ranks = {event["pid"] for event in self.events}
        lanes = {(event["tid"], event["pid"]) for event in self.events}
        self.assertEqual(len({thread for thread, _ in lanes}), len(lanes))
        self.assertFalse({thread for thread, _ in lanes} & ranks)

    def test_the_slices_of_a_lane_nest_or_do_not_touch(self):
        lanes = {}
        for each in self.slices:
            lanes.setdefault((each["pid"], each["tid"]), []).append(each)
        for lane in lanes.values():
            open_slices = []
            for each in sorted(lane, key=lambda each: (each["ts"], -each["dur"])):
                while open_slices and each["ts"] >= open_slices[-1]["ts"] + open_slices[-1]["dur"] - 2e-3:
                    open_slices.pop()
                if open_slices:
                    self.assertTrue(inside(each, open_slices[-1]), (each, open_slices[-1]))
                open_slices.append(each)

    def test_operations_are_the_lines_that_the_plan_prints(self):
        for rank in range(RANKS):
            printed = shoal("plan", "program", "config.yaml", "--ranks", RANKS, "--rank", rank, cwd=self.scratch).stdout
            lines = [line.ljust(60) for line in printed.splitlines() if re.match(r" *\d+  ", line)]
            expected = [(int(line[:6]), f"{line[8:25].strip()} {line[26:48].strip()}".strip(),
                         int(line[51:56]) if line[49:51] == "mb" else None) for line in lines]
            found = [(each["args"]["line"], each["name"], each["args"].get("micro_batch")) for each in self.of(rank, "operation")]
            self.assertEqual(found, expected)
            self.assertGreater(len(found), 30)

    def test_waits_are_inside_operations_and_calls_have_bytes(self):
        for rank in range(RANKS):
            operations = self.of(rank, "operation")
            waits = self.of(rank, "wait")
            self.assertEqual({each["args"]["group"] for each in waits} & {"pp", "dp_shard"}, {"pp", "dp_shard"})
            for wait in waits:
                self.assertTrue(any(inside(wait, operation) for operation in operations), wait)
            calls = self.of(rank, "call")
            self.assertTrue(all(each["args"]["bytes"] > 0 for each in calls))
            gathers = [each for each in calls if each["name"].startswith("gather ")]
            awaited = {each["name"].removeprefix("await ") for each in operations if each["name"].startswith("await gather")}
            self.assertLessEqual({each["name"] for each in gathers}, awaited)
            (step,) = self.of(rank, "step")
            self.assertTrue(all(inside(each, step) for each in operations + self.of(rank, "data")))

    def test_an_arrow_goes_from_each_send_to_its_receive(self):
        ends = {phase: {event["id"]: event for event in self.events if event["ph"] == phase} for phase in "sf"}
        self.assertEqual(set(ends["s"]), set(ends["f"]))
        self.assertEqual(len(ends["s"]), 2 * 2 * 3)  # pipelines, directions, micro-batches
        error = self.trace["otherData"]["clock_error_us"]
        receives = [each for each in self.slices if each["cat"] == "call" and each["name"].startswith("receive")]
        for name, sent in ends["s"].items():
            at = ends["f"][name]
            self.assertEqual(abs(sent["pid"] - at["pid"]), 2)  # the other stage of the same pipeline
            self.assertEqual(1, len([each for each in receives if each["pid"] == at["pid"] and abs(each["ts"] + each["dur"] - at["ts"]) < 5e-3]))
            self.assertGreaterEqual(at["ts"], sent["ts"] - 2 * error)  # else viewers drop it

    def test_tracing_changes_no_figure(self):
        shoal("launch", "--ranks", RANKS, "--", "train", "config.yaml", "--set", "run.name=plain", "--set", "train.trace_steps=[]", cwd=self.scratch)
        self.assertEqual([row["loss"] for row in rows_of(self.run_directory)], [row["loss"] for row in rows_of(self.scratch / "runs" / "plain")])

    def test_the_report_shows_the_latest(self):
        shoal("report", "runs/traced", cwd=self.scratch)
        page = (self.scratch / "report.html").read_text()
        for text in ("Where the time of a step went", "Step 4.", "bubble and transfers", "waiting for dp_shard", "waiting for data", "rank 3 on"):
            self.assertIn(text, page)
        (self.run_directory / "trace-step-000005.json").write_text('{"traceEvents": [')
        said = shoal("report", "runs/traced", cwd=self.scratch).stderr
        self.assertRegex(said, r"left out of the page: \S*trace-step-000005.json: ")
        (self.run_directory / "trace-step-000005.json").unlink()


class Prometheus(Observed):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            cls.port = chosen.getsockname()[1]
        cls.process = subprocess.Popen(
            [SHOAL, "train", "config.yaml", *(word for text in ("run.name=served", "parallel.pp=1", "parallel.dp_shard=1", "train.steps=1000000",
                                                                "train.trace_steps=[]", "train.save_every=40", f"train.prometheus_port={cls.port}")
                                              for word in ("--set", text))],
            cwd=cls.scratch, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
        while True:  # the line that says where; the end of the file when the process has died
            line = cls.process.stderr.readline()
            if not line or "/metrics" in line:
                break

    @classmethod
    def tearDownClass(cls):
        kill(cls.process)
        super().tearDownClass()

    def figures(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=30) as answer:
            self.assertEqual(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
            families = list(text_string_to_metric_families(answer.read().decode()))
        self.assertEqual({family.type for family in families}, {"gauge"})
        for family in families:
            self.assertEqual([sample.labels for sample in family.samples], [{"run": "served"}])
            self.assertTrue(family.documentation)
        return {family.name: family.samples[0].value for family in families}

    def figures_after(self, step):
        while True:
            found = self.figures()
            if found.get("shoal_step", 0) >= step and "shoal_saved_step" in found:
                return found

    def test_its_own_parser_reads_the_figures_of_the_run(self):
        found = self.figures_after(81)
        rows = {int(row["step"]): row for row in rows_of(self.scratch / "runs" / "served")}
        row = rows[int(found["shoal_step"])]
        for name, key in (("shoal_loss", "loss"), ("shoal_tokens", "tokens"), ("shoal_lr", "lr"), ("shoal_dt_seconds", "dt"),
                          ("shoal_tokens_per_second", "tokens_per_second"), ("shoal_memory_bytes", "memory_bytes"), ("shoal_mfu", "mfu"),
                          ("shoal_skipped_steps", "skipped_steps"), ("shoal_grad_norm", "grad_norm")):
            self.assertEqual(found[name], float(row[key]), name)
        self.assertEqual(found["shoal_restarts"], 0)
        self.assertEqual(found["shoal_saved_step"] % 40, 0)
        self.assertGreater(found["shoal_save_write_seconds"], 0)
        self.assertGreater(found["shoal_startup_seconds"], 0)  # only the first record has it

    def test_nothing_listens_beyond_loopback(self):
        listening = [line.split()[1] for line in pathlib.Path(f"/proc/{self.process.pid}/net/tcp").read_text().splitlines()[1:] if line.split()[3] == "0A"]
        self.assertIn(f"0100007F:{self.port:04X}", listening)
        self.assertNotIn(f"00000000:{self.port:04X}", listening)

    def test_malformed_requests_leave_it_serving(self):
        """Also while others hold connections without a word."""
        generator = random.Random(3)
        silent = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(50)]
        good = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"
        for _ in range(3000):
            request = bytearray(good * generator.choice((1, 1, 200)))
            for _ in range(generator.randrange(6)):
                request[generator.randrange(len(request))] = generator.randrange(256)
            with socket.create_connection(("127.0.0.1", self.port)) as connection:
                try:
                    connection.sendall(request[:generator.randrange(len(request) + 1)])
                except OSError:  # it has heard enough
                    pass
        self.assertIn("shoal_loss", self.figures_after(1))
        for path in ("/", "/metrics/../metrics", "/favicon.ico"):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30)
            self.assertEqual(refused.exception.code, 404)
        for connection in silent:
            connection.close()

    def test_a_taken_port_is_told_and_the_run_goes_on(self):
        said = shoal("train", "config.yaml", "--set", "run.name=second", "--set", "parallel.pp=1", "--set", "parallel.dp_shard=1", "--set",
                     "train.trace_steps=[]", "--set", f"train.prometheus_port={self.port}", cwd=self.scratch).stderr
        self.assertIn(f"port {self.port} of 127.0.0.1 is taken; choose another train.prometheus_port", said)
        self.assertEqual(len(rows_of(self.scratch / "runs" / "second")), 5)


if __name__ == "__main__":
    unittest.main()
