#!/usr/bin/env python3
"""The runner of documents notices what it is for: commands that fail, outputs that are not printed, blocks that do not say what they are."""
import pathlib
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[2] / "tools")]
import fences  # noqa: E402
import run_documents  # noqa: E402


def problems_of(*blocks):
    """Of a page with these blocks, each an info string and its lines."""
    with tempfile.NamedTemporaryFile("w", suffix=".md") as page:
        page.write("# A page\n\n" + "\n\n".join(f"```{info}\n{text}\n```" for info, text in blocks) + "\n")
        page.flush()
        return [problem.partition("\n")[0].partition(":")[2] for problem in run_documents.problems_of(page.name, False)]


class Commands(unittest.TestCase):
    def test_run_in_order_in_one_shell_and_one_directory(self):
        self.assertEqual(problems_of(("sh", "x=1; echo one >file"), ("sh", "cat file; echo $x"), ("text exact", "one\n1")), [])

    def test_that_fail_are_told_with_their_line(self):
        self.assertEqual(problems_of(("sh", "true"), ("sh", "false"), ("sh", "true")), ["7: exit code 1"])
        self.assertEqual(problems_of(("sh", "false | true")), ["3: exit code 1"])
        self.assertEqual(problems_of(("sh", "echo $nothing")), ["3: exit code 1"])

    def test_elsewhere_do_not_run(self):
        self.assertEqual(problems_of(("sh elsewhere: tests/docs/CMakeLists.txt", "false"), ("sh", "true")), [])

    def test_see_the_tree_and_a_text(self):
        self.assertEqual(problems_of(("sh", "test -f configs/debug_cpu.yaml && test -s shakespeare.txt && test -d clusters")), [])


class Outputs(unittest.TestCase):
    def test_may_have_other_figures_and_units(self):
        self.assertEqual(problems_of(("sh", "echo '  loss   3.25 in 1.5 s, 12.1k'"), ("text", "  loss 4.5 in 20 ms, 812")), [])

    def test_may_have_other_digits_and_digests(self):
        self.assertEqual(problems_of(("sh", "echo 0.015619448000000001 705b8526f6cad88921c9"), ("text", "0.0077 a2fe03ddeb4d66ae2e92")), [])

    def test_must_have_the_words(self):
        self.assertEqual(problems_of(("sh", "echo loss 3"), ("text", "cost 3")), ["7: not printed: cost 3"])

    def test_must_have_the_order(self):
        self.assertEqual(problems_of(("sh", "echo a; echo b"), ("text", "b\na")), ["7: not printed: a"])

    def test_may_leave_lines_out(self):
        self.assertEqual(problems_of(("sh", "seq 9; echo end"), ("text", "1\n...\nend")), [])

    def test_exact_have_the_figures(self):
        self.assertEqual(problems_of(("sh", "echo 1; echo 2"), ("text exact", "1\n2")), [])
        self.assertEqual(problems_of(("sh", "echo 1; echo 2"), ("text exact", "1\n3")), ["7: not printed: 3"])
        self.assertEqual(problems_of(("sh", "echo 1; echo 2"), ("text exact", "1")), ["7: not printed: (not shown) 2"])

    def test_exact_have_no_gap_but_where_dots_are(self):
        self.assertEqual(problems_of(("sh", "seq 5"), ("text exact", "...\n2\n3\n...")), [])
        self.assertEqual(problems_of(("sh", "seq 5"), ("text exact", "...\n2\n4\n...")), ["7: not printed: 2 (and the 1 lines behind it)"])

    def test_of_another_block_are_not_compared(self):
        text = "```sh\necho a\n```\n\nwords\n\n```text\nb\n```\n"
        self.assertIsNone(fences.blocks_of(text)[1].follows)


class Fences(unittest.TestCase):
    def problem(self, info):
        return fences.problem_with(fences.blocks_of(f"```{info}\n```\n")[0], lambda where: where == "tests/there.py")

    def test_must_say_what_they_are(self):
        self.assertIn("no info string", self.problem(""))
        self.assertIn("none of ours", self.problem("bash"))
        self.assertIn("not there", self.problem("sh elsewhere: tests/gone.py"))
        for info in ("sh", "text", "text exact", "cpp", "sh elsewhere: tests/there.py", "sh elsewhere: nothing here has a GPU"):
            self.assertIsNone(self.problem(info))

    def test_longer_fences_hold_shorter_ones(self):
        self.assertEqual(fences.blocks_of("````text\n```sh\n```\n````\n")[0].lines, ["```sh", "```"])


if __name__ == "__main__":
    unittest.main()
