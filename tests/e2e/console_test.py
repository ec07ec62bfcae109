"""What people meet around the commands: help with examples, manual pages, completion, shoal top, and no escape sequences
where there is no terminal."""
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BINARIES = pathlib.Path(os.environ["SHOAL_BINARY_DIR"])
SOURCE = pathlib.Path(os.environ["SHOAL_SOURCE_DIR"])
SHOAL = str(BINARIES / "shoal")
ENVIRONMENT = {**os.environ, "PATH": f"{BINARIES}:{os.environ['PATH']}", "TERM": "xterm", "LC_ALL": "C.UTF-8",
               "OMP_NUM_THREADS": "1"}
ENVIRONMENT.pop("NO_COLOR", None)
PATIENCE = 240  # seconds; only what hangs takes so long


def run(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, timeout=120, env=ENVIRONMENT, **options)


def shoal(*words, **options):
    done = run(SHOAL, *words, **options)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def complete(*words):
    return shoal("complete", *words).split()


def commands():
    return complete("")


def on_terminal(words, until, cwd=None, seconds=PATIENCE):
    """Runs a command on a terminal of its own, until its output has the pattern; gives the output and the process."""
    child, master = pty.fork()
    if child == 0:
        if cwd:
            os.chdir(cwd)
        os.execvpe(words[0], words, ENVIRONMENT)
    return read_until(until, master, seconds), child, master


def read_until(pattern, master, seconds=PATIENCE):
    """What a terminal is sent, until that has the pattern."""
    output = b""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not re.search(pattern, output):
        if not select.select([master], [], [], 0.2)[0]:
            continue
        try:
            part = os.read(master, 65536)
        except OSError:  # the process has ended
            break
        if not part:
            break
        output += part
    return output


class Words(unittest.TestCase):
    def test_every_help_has_an_example(self):
        for command in commands():
            pages = [[command]] + [[command, each] for each in complete(command, "")]
            text = "".join(shoal(*page, "--help") for page in pages)
            self.assertRegex(text, rf"(?m)^ +.*\bshoal.* {command}\b", command)

    def test_every_command_has_a_manual_page_without_a_warning(self):
        for command in commands():
            page = shoal(command, "--man")
            self.assertIn(f'.TH "shoal-{command}" 1', page)
            done = run("groff", "-man", "-Tutf8", "-ww", "-z", input=page)
            self.assertEqual((done.returncode, done.stderr), (0, ""), command)
            for option in re.findall(r"(?m)^  (?:-h,)?(--[a-z-]+)", shoal(command, "--help")):
                self.assertIn("\\fB" + option.replace("-", "\\-"), page)
        self.assertIn("shoal\\-train(1)", shoal("--man"))

    def test_the_manual_page_reads_as_the_help_does(self):
        page = run("groff", "-man", "-Tascii", "-P-cbou", input=shoal("launch", "--man")).stdout
        self.assertIn("shoal launch --ranks 4 -- doctor", page)
        self.assertRegex(page, r"--ranks N\s+ranks on each host")

    def test_completion_knows_commands_options_keys_and_values(self):
        self.assertEqual(complete("tra"), ["train"])
        self.assertIn("--set", complete("train", "--"))
        self.assertEqual(complete("train", "x.yaml", "--set", "train.micro"), ["train.micro_batch="])
        self.assertIn("parallel.sharding=full_shard", complete("train", "--set", "parallel.sharding="))
        self.assertEqual(complete("plan", "sea"), ["search"])
        self.assertIn("--gpus", complete("plan", "search", "--"))
        self.assertIn("--ranks", complete("plan", "a.yaml", "--"))
        self.assertEqual(complete("launch", "--ranks", "2", "--", "tra"), ["train"])
        self.assertIn("--set", complete("launch", "--ranks", "2", "--", "train", "--s"))
        self.assertEqual(complete("launch", "--ranks", ""), [])
        self.assertEqual(complete("nosuch"), [])

    def test_bash_completes(self):
        script = """source <(shoal completion bash)
COMP_WORDS=(shoal train --set train.micro); COMP_CWORD=3; compopt() { printf '%s ' compopt "$@"; echo; }; _shoal; echo "${COMPREPLY[@]}"
complete -p shoal"""
        done = run("bash", "-c", script)
        self.assertEqual(done.stdout.splitlines()[:2], ["compopt -o nospace ", "train.micro_batch="], done.stderr)
        self.assertIn("complete -o default -F _shoal shoal", done.stdout)

    def test_zsh_and_fish_accept_their_scripts(self):
        for shell in ["zsh", "fish"]:
            if not shutil.which(shell):
                print(f"{shell} is not installed: its script is not tried")
                continue
            done = run(shell, "-n", input=shoal("completion", shell))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        if shutil.which("fish"):
            done = run("fish", "--no-config", "-c", "shoal completion fish | source; complete -C 'shoal tra'")
            self.assertIn("train", done.stdout.split(), done.stderr)

    def test_zsh_completes_from_the_first_tab_on(self):
        if not shutil.which("zsh"):
            return print("zsh is not installed: its first Tab is not tried")
        with tempfile.TemporaryDirectory() as directory:
            (pathlib.Path(directory) / "_shoal").write_text(shoal("completion", "zsh"))  # where the package puts it
            prompt, child, screen = on_terminal(["zsh", "-f", "-i"], rb"[%#] ")
            os.write(screen, f"fpath=({directory} $fpath); autoload -U compinit; compinit -u -D; PS1='rea''dy '\n".encode())
            read_until(rb"ready ", screen)
            os.write(screen, b"shoal gener\t")
            self.assertRegex(read_until(rb"generate", screen), rb"generate")
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(screen)

    def test_errors_have_colours_on_terminals_only(self):
        self.assertNotIn("\x1b", run(SHOAL, "nosuch").stderr)
        output, child, master = on_terminal([SHOAL, "nosuch"], rb"--help")
        os.close(master)
        os.waitpid(child, 0)
        self.assertIn(b"\x1b[31merror\x1b[0m: shoal has no command", output)

    def test_lines_of_launch_are_written_whole(self):
        reader, writer = os.pipe2(os.O_DIRECT)  # each write is a packet, and a read returns one
        subprocess.run([SHOAL, "launch", "--ranks", "2", "--max-restarts", "1", "--", "/bin/sh", "-c", "exit 75"], stderr=writer, env=ENVIRONMENT)
        os.close(writer)
        packets = list(iter(lambda: os.read(reader, 65536).decode(), ""))
        os.close(reader)
        self.assertIn("launch: restart 1 of 1\n", packets)
        for packet in packets:
            self.assertRegex(packet, r"^launch: .*\n$")


@unittest.skipUnless((BINARIES / "shoal-engine").exists(), "this build has no engine")
class Runs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.directory = pathlib.Path(cls.scratch.name)
        text = SOURCE / "examples/train_shakespeare/shakespeare.txt"
        shoal("prepare", "--input", str(text), "--tokenizer", "byte", "--output", "tokens", "--validation", "tail:0.1",
              cwd=cls.directory)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def train(self, name, steps):
        return [SHOAL, "train", str(SOURCE / "configs/shakespeare.yaml"), "--set", f"run.name={name}", "--set",
                f"train.steps={steps}", "--set", "model.layers=1", "--set", "train.eval_every=5", "--set",
                "train.eval_batches=1", "--set", "train.sample_tokens=20", "--set", "train.batch=2"]

    def top(self, *words):
        return shoal("top", *words, cwd=self.directory)

    def test_a_finished_run(self):
        done = run(*self.train("short", 11), cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("\x1b", done.stdout)
        self.assertRegex(done.stdout, r"\n  sample  \S.*\n")
        shown = self.top("runs/short")
        self.assertRegex(shown, r"^runs/short  done\n\[#{24}\]  100\.0%  11/11\n")
        self.assertRegex(shown, r"\nloss \d\.\d+  \S+  val_loss \d\.\d+\n")
        self.assertRegex(shown, r"tok/s .* a step .*on the fullest rank\n")
        self.assertRegex(shown, r"\nsample of step 11\n  │ .*\n")
        self.assertNotIn("\x1b", shown)

    def test_a_run_under_way_that_is_killed_and_one_that_is_stopped(self):
        output, child, master = on_terminal(self.train("long", 100000), rb"sample of step 10\r\n", cwd=self.directory)
        self.assertRegex(output.decode(), "│ \x1b\\[0m.+\r\n")
        self.assertRegex(output.decode(), r"\x1b\[32m\[[#.]{24}\]\x1b\[0m  0\.0%  \d+/100000  .* left\r\n")
        self.assertRegex(output.decode(), "\r\nloss \\d\\.\\d+  \x1b\\[36m[▁-█]+")
        self.assertRegex(self.top("runs/long"), r"^runs/long  running  job .* on .* since ")
        # On a terminal the view is kept up to date until the run ends, restarts included.
        watching, watcher, screen = on_terminal([SHOAL, "top", "runs/long"], rb"\x1b\[\d+A\r\x1b\[J", cwd=self.directory)
        self.assertIn("running", watching.decode())
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(master)
        self.assertIn("waiting for a restart", read_until(rb"killed.*waiting for a restart", screen).decode())
        self.assertRegex(self.top("runs/long"), r"^runs/long  killed  job ")
        resumed = subprocess.Popen([*self.train("long", 100000), "--set", "train.init_from=resume"], cwd=self.directory,
                                   env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
        for line in resumed.stdout:
            if re.match(r" +\d+/100000", line):
                break
        self.assertIn("running", read_until(rb"running", screen).decode())
        resumed.send_signal(signal.SIGTERM)
        resumed.communicate(timeout=60)
        self.assertRegex(self.top(), r"^runs/long  stopped  go on with --set train\.init_from=resume\n")
        self.assertIn("stopped", read_until(rb"stopped.*waiting for a restart", screen).decode())
        os.write(screen, b"\x03")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(watcher, 0)[1]), -signal.SIGINT)
        os.close(screen)

    def test_what_is_no_run(self):
        done = run(SHOAL, "top", "tokens", cwd=self.directory)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "error: tokens is no run: it has no config.yaml\n")


if __name__ == "__main__":
    sys.exit(unittest.main())
