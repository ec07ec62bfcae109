"""The API reference: a page for each module of the public headers, an overview, and an index of names.

    reference = Reference(root)
    reference.pages             like RenderedPage: path, title, contents, anchors, passages, html(resolve)
    reference.sections          {header: (path of its page, anchor)}

Public headers are those that cmake/Library.cmake installs; it is read for which they are. A header shows its contract, then what it declares in the order
of the file, each with the comment that stands above or beside it.

Why a reader of our own (cpp_declarations.py) and not Doxygen or libclang: comments here are plain `//`, one comment stands above a run of declarations,
config structs have the help texts of their fields in list_fields(), and enums their names in kNames. Doxygen 1.9.4 takes plain comments only through a filter,
gives one above a run to the first of it alone, and leaves list_fields() and kNames to us; its XML still needs pages made of it. libclang wants torch's
headers to know a type, and its Debian package takes 230 MB. This takes a third of a second and installs nothing, and tests/docs/api_reference_test.py
compares what it finds with a second way to read headers.
"""
import html
import posixpath
import re

from cpp_declarations import HEADING
from public_names import FOLDER, PublicNames, code_block, is_shown, paragraphs_of, wrapped
from rendered_page import plain

ENTRIES = ("function", "variable", "alias", "concept", "macro")


class Reference(PublicNames):
    def __init__(self, root):
        super().__init__(root)
        modules = sorted({self.module_of(header) for header in self.headers} - {""})
        self.pages = [Overview(self, modules), NamesPage(self), *(ModulePage(self, module) for module in modules)]


def has_own_words(one, first):
    """Whether a comment beside it says more of a declaration than the one above its run, which then belongs to those before."""
    return bool(one.beside and first.comment and not re.match("(These|Both|All|They) ", first.comment[0]))


def facts_of(one):
    codes = [member.code for member in one.members if member.public]
    if any(re.fullmatch(rf"{one.name}\(const {one.name}&\) = delete", code) for code in codes):
        yield "Not copyable."
    if any("operator==" in code and "= default" in code for code in codes):
        yield "Compares by its members (<code>==</code>)."


def heading(level, anchor, words, kind=""):
    pill = f'<span class="kind">{kind}</span> ' if kind else ""
    return f'<h{level} id="{anchor}">{pill}{html.escape(words)}<a class="headerlink" href="#{anchor}" title="link to this">#</a></h{level}>'


class Page:
    """What tools/site/build.py asks of a page. Parts are (heading in the search or None, anchor, HTML); None goes on with the part before."""

    def __init__(self, path, title, source):
        self.path, self.title, self.source = f"{FOLDER}/{path}", title, source
        self.contents, self.parts = [], []

    def add(self, words, anchor, text):
        self.parts.append((words, anchor, text))

    def complete(self):
        self.text = "\n".join(text for _, _, text in self.parts)
        self.anchors = set(re.findall(r'\bid="([^"]+)"', self.text))
        self.passages = []
        for words, anchor, text in self.parts:
            said = plain(re.sub(r"<h\d.*?</h\d>", "", text))
            if words is None:
                self.passages[-1][2] += " " + said
            else:
                self.passages.append([words, anchor, said])

    def html(self, resolve):
        return re.sub(r'href="text of ([^"]+)"', lambda found: f'href="{html.escape(resolve("../" + found.group(1)))}"', self.text)


class HeaderPage(Page):
    """A page with sections of headers."""

    def header(self, reference, header):
        self.reference, file, short = reference, reference.files[header], reference.short(header)
        self.contents.append((short, short))
        stable = "stable" if header in reference.stable else "may change"
        contract = list(file.contract)
        if contract:
            contract[0] = contract[0].partition(" -- ")[2] or contract[0]
            contract[0] = contract[0][:1].upper() + contract[0][1:]
        scope = next((one.scope for one in file.declarations if one.scope), "shoal")
        self.add(short, short, heading(2, short, short)
                 + f'<p class="facts"><span class="kind">{stable}</span> <code>namespace {scope}</code> &middot; <a href="text of {header}">source</a></p>'
                 + reference.comment(contract, scope, header))
        if any(one.kind != "note" for one in file.declarations):
            self.declarations(header, file.declarations, 3)

    def declarations(self, header, declarations, level):
        """Declarations in the order of the file, with nested types behind all others; functions that share a comment stay together."""
        run, types = [], []
        for one in [*declarations, None]:
            if run and not (one and one.kind in ENTRIES and is_shown(one) and one.joined and not has_own_words(one, run[0])):
                self.entry(header, run)
                run = []
            if one is None or not is_shown(one):
                continue
            if one.kind == "note":
                found = HEADING.fullmatch(one.comment[0])
                self.add(None, "", f'<p class="note">{html.escape(found[1])}</p>' if found else self.reference.comment(one.comment, one.scope, header))
            elif one.is_type and level > 3:
                types.append(one)
            elif one.is_type:
                self.type(header, one, level)
            else:
                run.append(one)
        for one in types:
            self.type(header, one, level)

    def short_name(self, one):
        """Without the namespace that the page's title tells."""
        return one.full_name.removeprefix(f"{self.title.replace('/', '::')}::").removeprefix("shoal::")

    def entry(self, header, run):
        lines = []
        for one in run:
            code = self.reference.declared(one)
            if one.beside and "\n" not in code:
                code += f'  <span class="comment">// {html.escape(one.beside, quote=False)}</span>'
            lines.append(code)
        words = ", ".join(dict.fromkeys([self.short_name(run[0]), *(one.name for one in run[1:] if one.name != run[0].name)]))
        comment = self.reference.comment(run[0].comment, run[0].scope, header)
        late = "".join(f"<p>{self.reference.prose(one.beside, one.scope, header)}</p>" for one in run if one.beside and "\n" in wrapped(one.code))
        self.add(words, run[0].anchor, f'<div class="entry">{code_block(lines)}{comment}{late}</div>')

    def type(self, header, one, level):
        reference, name = self.reference, one.full_name.removeprefix("shoal::")
        own = name.removeprefix((one.scope.removeprefix("shoal::") + "::") if level == 3 else "")
        head = heading(level, one.anchor, own, one.kind)
        if one.code not in (f"{one.kind} {one.name}", f"enum class {one.name}"):
            head += code_block([reference.code(wrapped(one.code), one.scope)])
        facts = " ".join(facts_of(one))
        self.add(self.short_name(one), one.anchor, head + reference.comment(one.comment, one.full_name, header) + (f"<p>{facts}</p>" if facts else ""))
        shown = [member for member in one.members if is_shown(member)]
        as_list = [member for member in shown if member.kind == "value" or member.kind == "variable" and not member.code.startswith("static ")]
        if as_list:
            self.add(None, "", self.fields(header, as_list))
        self.declarations(header, [member for member in one.members if member not in as_list], min(level + 1, 4))

    def fields(self, header, fields):
        reference = self.reference
        if not any(one.comment or one.beside for one in fields):
            return code_block([reference.declared(one) for one in fields])
        rows = []
        for one in fields:
            words = " ".join(line.strip() for line in one.comment) or one.beside
            if one.comment and one.beside:
                words += f" {one.beside}"
            rows.append(f"<dt><code>{reference.declared(one)}</code></dt><dd>{reference.prose(words, one.scope, header)}</dd>")
        return f'<dl class="fields">{"".join(rows)}</dl>'


class ModulePage(HeaderPage):
    def __init__(self, reference, module):
        super().__init__(module, f"shoal/{module}", f"shoal/{module}/*.h")
        headers = [header for header in reference.headers if reference.module_of(header) == module]
        self.add(self.title, "", f"<h1>{self.title}</h1>")
        for header in sorted(headers, key=lambda header: (header not in reference.stable, header)):
            self.header(reference, header)
        self.complete()


class Overview(HeaderPage):
    def __init__(self, reference, modules):
        super().__init__("index", "API overview", "shoal/shoal.h")
        self.add("API reference", "", "<h1>API reference</h1>")
        first, *others = (header for header in reference.headers if not reference.module_of(header))
        self.header(reference, first)
        self.contents.append(("modules", "Modules"))
        self.add("Modules", "modules", heading(2, "modules", "Modules"))
        for module in modules:
            headers = [header for header in reference.headers if reference.module_of(header) == module]
            rows = [self.row(reference, header) for header in sorted(headers, key=lambda header: (header not in reference.stable, header))]
            self.add(None, "", f'<h3><a href="{module}.html">shoal/{module}</a></h3><dl class="fields">{"".join(rows)}</dl>')
        for header in others:
            self.header(reference, header)
        self.complete()

    @staticmethod
    def row(reference, header):
        contract = reference.files[header].contract
        words = " ".join(paragraphs_of(contract)[0][1]).partition(" -- ")[2] if contract else ""
        summary = re.split(r"(?<=[.:;]) ", words)[0].rstrip(":;.")
        page, anchor = reference.sections[header]
        badge = ' <span class="kind">stable</span>' if header in reference.stable else ""
        return f'<dt><a href="{posixpath.basename(page)}.html#{anchor}"><code>{anchor}</code></a>{badge}</dt><dd>{reference.prose(summary, "shoal", header)}</dd>'


class NamesPage(Page):
    def __init__(self, reference):
        super().__init__("names", "Index of names", "the public headers")
        letters = {}
        for one in reference.names.values():
            in_type = one.scope in reference.names
            is_constructor = one.name == one.scope.rpartition("::")[2]
            if one.is_type or one.kind in ENTRIES and not is_constructor and not (one.kind == "variable" and in_type):
                letters.setdefault(one.name.lstrip("_")[0].upper(), []).append(one)
        self.add("", "", "<h1>Index of names</h1>")
        for letter in sorted(letters):
            self.contents.append((f"letter-{letter}", letter))
            rows = [f'<li>{reference.link(one, f"<code>{html.escape(one.name)}</code>")} <small>{html.escape(one.scope.removeprefix("shoal::") or one.kind)}</small></li>'
                    for one in sorted(letters[letter], key=lambda one: (one.name.lower(), one.full_name))]
            self.add(None, "", heading(2, f"letter-{letter}", letter) + f'<ul class="names">{"".join(rows)}</ul>')
        self.complete()
        self.passages = []  # the names are in the passages of what they name
