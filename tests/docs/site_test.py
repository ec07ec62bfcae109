#!/usr/bin/env python3
"""The site builds from the tree as it is, and does not build from one with a page that is not listed, a broken link or a missing heading."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = SOURCE / "tools" / "site" / "build.py"


def build(out, root=SOURCE):
    done = subprocess.run([sys.executable, BUILD, out, "--root", root], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


class Tree(unittest.TestCase):
    """A small tree with two pages."""

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.root, self.out = pathlib.Path(self.scratch.name) / "tree", pathlib.Path(self.scratch.name) / "out"
        for name, text in {
            "tools/site/pages.txt": "Start\n  README.md shoal\n  docs/a.md First\n",
            "README.md": "# shoal\n\nSee [a](docs/a.md#two-words) and [code](src/x.h).\n",
            "docs/a.md": "# A\n\n## Two words\n\n[back](../README.md)\n\n![p](p.png)\n\n```sh elsewhere: tests/t.py\nls <x>  # list\n```\n",
            "docs/p.png": "picture", "src/x.h": "int x;\n",
        }.items():
            self.write(name, text)

    def tearDown(self):
        self.scratch.cleanup()

    def write(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def expect_failure(self, words):
        code, said = build(self.out, self.root)
        self.assertEqual(code, 1, said)
        self.assertIn(words, said)

    def test_links_files_and_blocks(self):
        code, said = build(self.out, self.root)
        self.assertEqual(code, 0, said)
        first, second = (self.out / "index.html").read_text(), (self.out / "docs/a.html").read_text()
        self.assertIn('href="docs/a.html#two-words"', first)
        self.assertIn('href="src/x.h.txt"', first)
        self.assertIn('href="../index.html"', second)
        self.assertIn('src="p.png"', second)
        self.assertIn('run by tests/t.py', second)
        self.assertIn('ls &lt;x&gt;  <span class="comment"># list</span>', second)
        self.assertEqual((self.out / "docs/p.png").read_text(), "picture")
        self.assertEqual((self.out / "src/x.h.txt").read_text(), "int x;\n")

    def test_code_of_a_link(self):
        self.write("src/x.cpp", "namespace {\n\n// Twice.\nint twice(int x) {\n  return 2 * x;\n}\n\n}  // namespace\n\nint other();\n")
        self.write("README.md", '# shoal\n\n[x](src/x.cpp "code of twice")\n')
        code, said = build(self.out, self.root)
        self.assertEqual(code, 0, said)
        text = (self.out / "index.html").read_text()
        self.assertIn("// Twice.\nint twice(int x) {\n  return 2 * x;\n}\n</code>", text)
        self.assertIn('href="src/x.cpp.txt"', text)
        self.assertNotIn("int other", text)

    def test_code_that_is_not_there(self):
        self.write("README.md", '# shoal\n\n[x](src/x.h "code of twice")\n')
        self.expect_failure("README.md shows the code of twice, which src/x.h does not have")

    def test_a_link_to_a_public_header_leads_to_the_reference(self):
        self.write("cmake/Library.cmake", (SOURCE / "cmake/Library.cmake").read_text())
        self.write("shoal/shoal.h", '// shoal.h -- all.\n#pragma once\n\n#include "shoal/a/b.h"\n')
        self.write("shoal/a/b.h", "// b.h -- a letter.\n#pragma once\n\nnamespace shoal::a {\n\n// Says it.\nvoid say();\n\n}  // namespace shoal::a\n")
        self.write("README.md", "# shoal\n\n[b](shoal/a/b.h)\n")
        code, said = build(self.out, self.root)
        self.assertEqual(code, 0, said)
        self.assertIn('href="api/a.html#a/b.h"', (self.out / "index.html").read_text())
        page = (self.out / "api/a.html").read_text()
        self.assertRegex(page, r'void <b id="a::say">say</b>\(\)\n</code></pre></div><p>Says it.</p>')
        self.assertIn('href="../shoal/a/b.h.txt"', page)

    def test_search_index_leads_to_headings(self):
        build(self.out, self.root)
        entries = json.loads((self.out / "search-index.js").read_text().removeprefix("window.searchIndex = ").removesuffix(";\n"))
        self.assertIn({"page": "First", "heading": "Two words", "url": "docs/a.html#two-words", "text": "back run by tests/t.py ls <x> # list"}, entries)

    def test_a_page_that_is_not_listed(self):
        self.write("docs/parallel/b.md", "# B\n")
        self.expect_failure("pages.txt does not list docs/parallel/b.md")

    def test_a_page_that_is_not_there(self):
        self.write("tools/site/pages.txt", "Start\n  README.md\n  docs/a.md\n  docs/gone.md\n")
        self.expect_failure("lists docs/gone.md, which is not there")

    def test_a_broken_link(self):
        self.write("README.md", "# shoal\n\n[a](docs/gone.md)\n")
        self.expect_failure("README.md links to docs/gone.md")

    def test_a_missing_heading(self):
        self.write("README.md", "# shoal\n\n[a](docs/a.md#three)\n")
        self.expect_failure("docs/a.md has no such heading")

    def test_does_not_empty_what_it_did_not_make(self):
        self.out.mkdir()
        (self.out / "mine").write_text("")
        self.expect_failure("holds something else")


class Site(unittest.TestCase):
    def test_builds_from_this_tree(self):
        with tempfile.TemporaryDirectory() as scratch:
            out = pathlib.Path(scratch) / "site"
            code, said = build(out)
            self.assertEqual(code, 0, said)
            for page in out.rglob("*.html"):
                text = page.read_text()
                self.assertNotRegex(text, r"fencedblock\d", page)
                self.assertNotRegex(text, r'(?:src|href)="https?://[^"]*\.(?:js|css)"', page)
                for target in re.findall(r'(?:href|src)="([^"#:?]+)["#?]', text):
                    self.assertTrue((page.parent / target).exists(), f"{page}: {target}")


if __name__ == "__main__":
    unittest.main()
