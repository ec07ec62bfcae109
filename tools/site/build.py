#!/usr/bin/env python3
"""Builds the documentation as a static site, without network:

    tools/site/build.py OUT [--root TREE]

pages.txt has the pages and their order; api.py adds the API reference. The build fails on a page of docs/ or course/ that is not listed, on a link to
what is not there, and on a link to a heading that its page does not have. Files of the tree that pages link to are copied as texts, pictures and HTML as they are;
a link to a public header leads to its section of the reference. A line with nothing but a link that has a title, [main.cpp](../main.cpp "code of run"),
is followed by the code of that name: on a code host it is a link, and nobody keeps a copy.
"""
import argparse
import html
import json
import pathlib
import posixpath
import re
import shutil
import string
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
from api import Reference  # noqa: E402
from cpp_declarations import declarations_of, everything  # noqa: E402
from rendered_page import RenderedPage  # noqa: E402

AS_THEY_ARE = (".png", ".svg", ".jpg", ".gif", ".html")  # pictures, and pages that shoal wrote
BEFORE_REFERENCE = "docs/library.md"  # the page of the section that the reference follows
MUST_BE_LISTED = ("docs/**/*.md", "course/**/*.md")
CODE_OF = re.compile(r'^\[[^\]]*\]\(([^)\s]+) "code of (\w+)"\)$', re.M)
MARKER = ".shoal-site"  # in a directory that this program made, and may therefore empty


class Problem(Exception):
    pass


def read_pages(root):
    """[(section, [(path, title or None)])] in their order; a pattern takes what no line names."""
    sections, named, patterns = [], set(), []
    for line in (root / "tools/site/pages.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith(" "):
            sections.append((line.strip(), []))
            continue
        path, _, title = line.strip().partition(" ")
        sections[-1][1].append((path, title.strip() or None))
        if "*" in path:
            patterns.append(path)
        else:
            named.add(path)
    found = []
    for section, entries in sections:
        pages = []
        for path, title in entries:
            if "*" in path:
                pages += [(str(file.relative_to(root)), None) for file in sorted(root.glob(path)) if str(file.relative_to(root)) not in named]
            elif (root / path).is_file():
                pages.append((path, title))
            elif not any(pathlib.PurePath(path).match(pattern) for pattern in patterns):
                raise Problem(f"pages.txt lists {path}, which is not there")
        found.append((section, pages))
    return [(section, pages) for section, pages in found if pages]


def unlisted(root, listed):
    return sorted(path for pattern in MUST_BE_LISTED for path in (str(file.relative_to(root)) for file in root.glob(pattern))
                  if path not in listed)


def address_of(path):
    """Where a page of the tree is on the site."""
    return "index.html" if path == "README.md" else posixpath.splitext(path)[0] + ".html"


def with_code(root, path, text):
    """The text of a page with the code that its links ask for."""
    def code_of(found):
        file = posixpath.normpath(posixpath.join(posixpath.dirname(path), found[1]))
        code = (root / file).read_text() if (root / file).is_file() else ""
        one = next((one for one in everything(declarations_of(code).declarations) if one.name == found[2]), None)
        if one is None:
            raise Problem(f"{path} shows the code of {found[2]}, which {file} does not have")
        return f"{found[0]}\n\n```cpp\n{code[one.begin:one.end]}\n```"
    return CODE_OF.sub(code_of, text)


class Links:
    """Addresses on the site of what pages link to, and what has to be copied for them. A link to a public header leads to its section in the reference."""

    def __init__(self, root, pages, headers):
        self.root, self.pages, self.headers, self.copied, self.problems = root, pages, headers, {}, []

    def resolve(self, page, target):
        """The href of `target`, as it stands in the text of `page`."""
        if "://" in target or target.startswith("mailto:"):
            return target
        path, _, anchor = target.partition("#")
        whole = posixpath.normpath(posixpath.join(posixpath.dirname(page.path), path)) if path else page.path
        if (self.root / whole).is_dir():
            whole = next((at for at in self.pages if at.startswith(whole + "/")), whole)
        if whole in self.headers and self.headers[whole][0] != page.path:
            whole, anchor = self.headers[whole]
        if whole in self.pages:
            if anchor and anchor not in self.pages[whole].anchors:
                self.problems.append(f"{page.path} links to {target}, but {whole} has no such heading")
            address = address_of(whole)
        elif not whole.startswith("..") and (self.root / whole).is_file():
            address = whole if whole.endswith(AS_THEY_ARE) else whole + ".txt"
            self.copied[whole] = address
        else:
            self.problems.append(f"{page.path} links to {target}, which is not a page or a file of the tree")
            return "#"
        here = posixpath.dirname(address_of(page.path))
        return posixpath.relpath(address, here or ".") + (f"#{anchor}" if anchor else "")


def navigation_of(sections, pages, current, back):
    """The column of all pages, with the headings of the one that is shown."""
    parts = []
    for section, entries in sections:
        is_open = any(path == current.path for path, _ in entries) or len(entries) < 14
        parts.append(f"<details{' open' if is_open else ''}><summary>{html.escape(section)}</summary><ul>")
        for path, _ in entries:
            page = pages[path]
            here = ' aria-current="page"' if page is current else ""
            parts.append(f'<li><a href="{back}{address_of(path)}"{here}>{html.escape(page.title)}</a>')
            if page is current and len(page.contents) > 1:
                parts.append('<ul class="contents">')
                parts += [f'<li><a href="#{anchor}">{html.escape(words)}</a></li>' for anchor, words in page.contents]
                parts.append("</ul>")
            parts.append("</li>")
        parts.append("</ul></details>")
    return "\n".join(parts)


def neighbour(page, back, kind):
    if page is None:
        return "<span></span>"
    arrow = "&larr; " if kind == "prev" else ""
    behind = " &rarr;" if kind == "next" else ""
    return f'<a rel="{kind}" href="{back}{address_of(page.path)}">{arrow}{html.escape(page.title)}{behind}</a>'


def write_page(out, template, page, place, order, sections, pages, links):
    address = address_of(page.path)
    back = "../" * address.count("/")
    before = order[place - 1] if place else None
    after = order[place + 1] if place + 1 < len(order) else None
    file = out / address
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(template.substitute(
        title=html.escape(page.title if page.title == "shoal" else f"{page.title} - shoal"), back=back, source=html.escape(page.source),
        body=page.html(lambda target: links.resolve(page, target)), navigation=navigation_of(sections, pages, page, back),
        prev=neighbour(before, back, "prev"), next=neighbour(after, back, "next")))


def write_index(out, order):
    """Sections of all pages for the search, as a script: pages opened from a disk may not fetch files."""
    entries = [{"page": page.title, "heading": heading, "url": address_of(page.path) + (f"#{anchor}" if anchor else ""), "text": text}
               for page in order for heading, anchor, text in page.passages]
    (out / "search-index.js").write_text("window.searchIndex = " + json.dumps(entries, ensure_ascii=False, separators=(",", ":")) + ";\n")
    return len(entries)


def empty(out):
    if out.exists() and any(out.iterdir()) and not (out / MARKER).exists():
        raise Problem(f"{out} holds something else than a site of ours")
    if out.exists():
        shutil.rmtree(out)
    out.mkdir(parents=True)
    (out / MARKER).write_text("")


def build(root, out):
    sections = read_pages(root)
    titles = {path: title for _, entries in sections for path, title in entries}
    missing = unlisted(root, titles)
    if missing:
        raise Problem("pages.txt does not list " + ", ".join(missing))
    pages = {path: RenderedPage(path, with_code(root, path, (root / path).read_text()), title) for path, title in titles.items()}
    reference = Reference(root) if (root / "cmake/Library.cmake").is_file() else None
    if reference:
        behind = next((place for place, (_, entries) in enumerate(sections) if any(path == BEFORE_REFERENCE for path, _ in entries)), len(sections) - 1)
        sections.insert(behind + 1, ("API", [(page.path, None) for page in reference.pages]))
        pages.update({page.path: page for page in reference.pages})
    order = [pages[path] for _, entries in sections for path, _ in entries]
    links = Links(root, pages, reference.sections if reference else {})
    template = string.Template((HERE / "page.html").read_text())
    empty(out)
    for place, page in enumerate(order):
        write_page(out, template, page, place, order, sections, pages, links)
    if links.problems:
        raise Problem("\n".join(links.problems))
    for source, address in links.copied.items():
        (out / address).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / source, out / address)
    for name in ("style.css", "site.js"):
        shutil.copyfile(HERE / name, out / name)
    count = write_index(out, order)
    print(f"site: {len(order)} pages, {len(links.copied)} files beside them, {count} passages in the index, in {out}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--root", type=pathlib.Path, default=HERE.parent.parent)
    words = parser.parse_args()
    try:
        build(words.root.resolve(), words.out)
    except Problem as problem:
        print("\n".join(f"site: {line}" for line in str(problem).splitlines()), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
