#!/usr/bin/env python3
"""The API reference has every public type and function, on pages that are well formed and whose links lead somewhere.

What is public is found a second time here, by where lines begin: clang-format puts what a namespace declares into the first column, and members two
columns further for each type around them. Names without a comment are printed, and are no failure: some say enough.
"""
import html.parser
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TYPE = re.compile(r"(?:class|struct|union|enum class)(?: \[\[nodiscard\]\])? (\w+)(?:<.*>)?(?: final)?(?: :[^;]*)? \{")
FUNCTION = re.compile(r"(?:[\w:<>,&*\[\]. ]+[ &*>])?(\w+)\(")
NO_DECLARATION = re.compile(r"\s*(//|#|\}|template|using|namespace|friend|return|if|for|concept)")
# The page shows list_fields() as the comments of the fields.
NOT_SHOWN = {"list_fields"}


def closure(root, header="shoal/shoal.h", found=None):
    found = [] if found is None else found
    if header not in found:
        found.append(header)
        for included in re.findall(r'^#include "(shoal/.*)"$', (root / header).read_text(), re.M):
            closure(root, included, found)
    return found


def public_names(text):
    """Names of public types and functions with the types around them, as "World::join"."""
    scopes = []  # (name, column of its members, public)
    for line in text.splitlines():
        column = len(line) - len(line.lstrip())
        access = re.fullmatch(r" *(public|private|protected):", line)
        while scopes and not access and line.strip() and column < scopes[-1][1]:
            scopes.pop()
        if access:
            while column < scopes[-1][1] - 1:
                scopes.pop()
            scopes[-1] = (*scopes[-1][:2], access[1] == "public")
            continue
        if column != (scopes[-1][1] if scopes else 0) or NO_DECLARATION.match(line) or "= delete" in line:
            continue
        public = all(scope[2] for scope in scopes)
        line = line.strip().removeprefix("[[nodiscard]] ").removeprefix("[[noreturn]] ")
        is_type = TYPE.match(line)
        function = None if is_type or re.match(r"[^(]* = ", line) or "std::function<" in line.split("(")[0] else FUNCTION.match(line)
        found = is_type or function
        if found and public and found[1] not in NOT_SHOWN and "operator" not in line and "~" not in line:
            yield "::".join([*(scope[0] for scope in scopes), found[1]])
        if is_type and not line.endswith(("};", "} way;")):
            scopes.append((is_type[1], column + 2, not line.startswith("class")))


class Tags(html.parser.HTMLParser):
    """The tags of a page: which are open, what ids there are, what is linked to."""
    EMPTY = {"meta", "link", "input", "img", "br", "hr"}

    def __init__(self, text):
        super().__init__()
        self.open, self.wrong, self.ids, self.links = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.links += [attributes["href"]] if "href" in attributes else []
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> at {self.getpos()}")


class ApiReference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.out = pathlib.Path(cls.scratch.name) / "site"
        done = subprocess.run([sys.executable, SOURCE / "tools/site/build.py", cls.out, "--root", SOURCE], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        cls.pages = {page.resolve(): Tags(page.read_text()) for page in cls.out.rglob("*.html")}
        cls.api = {page: tags for page, tags in cls.pages.items() if page.parent.name == "api"}

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_every_public_name_is_there(self):
        ids = {place for tags in self.api.values() for place in tags.ids}
        missing, count = [], 0
        for header in closure(SOURCE):
            text = (SOURCE / header).read_text()
            namespace = re.findall(r"^namespace (shoal[\w:]*) \{", text, re.M)  # what is declared for others comes first
            self.assertIn(header.removeprefix("shoal/"), ids)
            for name in public_names(text):
                count += 1
                full = f"{namespace[-1]}::{name}".removeprefix("shoal::")
                if full not in ids:
                    missing.append(f"{header}: {full}")
        print(f"api reference: {count} public types and functions in {len(closure(SOURCE))} headers")
        self.assertGreater(count, 700)
        self.assertEqual(missing, [])

    def test_pages_are_well_formed(self):
        for page, tags in self.api.items():
            self.assertEqual((tags.wrong, tags.open), ([], []), page)
            self.assertEqual(len(tags.ids), len(set(tags.ids)), page)

    def test_links_lead_somewhere(self):
        for page, tags in self.api.items():
            for link in tags.links:
                path, _, anchor = urllib.parse.unquote(link).partition("#")
                target = (page.parent / path).resolve() if path else page
                self.assertTrue(target.exists(), f"{page.name}: {link}")
                if anchor:
                    self.assertIn(anchor, self.pages[target].ids, f"{page.name}: {link}")

    def test_private_members_are_not_there(self):
        self.assertNotIn("comm::World::parts_", {place for tags in self.api.values() for place in tags.ids})
        self.assertNotIn("data::Loader::Slot", {place for tags in self.api.values() for place in tags.ids})

    def test_comments_fields_and_names_of_values(self):
        text = (self.out / "api/config.html").read_text()
        self.assertRegex(text, r'<b id="config::ModelConfig::layers">layers</b> = 12</code></dt><dd>decoder blocks</dd>')
        self.assertRegex(text, r'<b id="config::Positions::kRotary">kRotary</b></code></dt><dd><code>rotary</code></dd>')
        self.assertIn("throws <a", (self.out / "api/core.html").read_text())

    def test_names_without_a_comment(self):
        sys.path[:0] = [str(SOURCE / "tools/site"), str(SOURCE / "tools")]
        import api  # noqa: PLC0415 -- only here, so that the other tests see nothing but the site
        for header, names in api.Reference(SOURCE).without_comment().items():
            print(f"no comment: {header}: {', '.join(names)}")


if __name__ == "__main__":
    unittest.main()
