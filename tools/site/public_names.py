"""The names of the public headers, for tools/site/api.py: what is declared where, what a name means inside of a scope, and texts with names as links.

    names = PublicNames(root)
    names.headers, names.stable              in the order of cmake/Library.cmake; those that shoal/shoal.h names itself
    names.find("World", "shoal::comm")       a Declaration, with its .header and .anchor
    names.prose("Throws PeerLost.", scope, header)
"""
import html
import posixpath
import re

from cpp_declarations import declarations_of, everything

FOLDER = "api"
WIDTH = 92  # of a declaration, past which its parameters get lines of their own
CODE_WORD = re.compile(r"`([^`]+)`|([\w/]+\.h\b|[A-Za-z_]\w*(?:::~?\w+)*(?:\(\))?)")


def public_headers(root):
    """The headers in the order in which cmake/Library.cmake comes to them, and those that the first one names itself."""
    rules = (root / "cmake/Library.cmake").read_text()
    first = re.search(r"^shoal_installed_headers\((\S+)\)", rules, re.M)[1]
    line_rule, name_rule = (re.compile(found.replace('\\"', '"').replace("\\\\", "\\")) for found in re.findall(r'REGEX (?:MATCH )?"((?:\\.|[^"])+)"', rules))
    found, named = [], []

    def visit(header):
        if header in found:
            return
        found.append(header)
        for line in (root / header).read_text().splitlines():
            if line_rule.search(line):
                included = name_rule.search(line)[0]
                named.extend([included] if header == first else [])
                visit(included)
    visit(first)
    return found, {first, *named}


def paragraphs_of(lines):
    """[(is code, lines)] of a comment: what is indented is code, and an empty line ends a paragraph."""
    parts = []
    for line in lines:
        is_code = line.startswith("  ")
        if not line:
            parts.append((parts[-1][0] if parts else False, []))
        elif parts and (parts[-1][0] == is_code or not parts[-1][1]):
            if parts[-1][0] != is_code:
                parts[-1] = (is_code, [])
            parts[-1][1].append(line)
        else:
            parts.append((is_code, [line]))
    joined = []
    for is_code, some in parts:
        if is_code and joined and joined[-1][0] and some:
            joined[-1][1].extend(["", *some])
        elif some:
            joined.append((is_code, list(some)))
    return joined


def wrapped(code):
    """A declaration in one line, or with a line for each parameter."""
    lines = []
    if code.startswith("template "):
        depth, at = 0, code.index("<")
        for at in range(at, len(code)):
            depth += {"<": 1, ">": -1}.get(code[at], 0)
            if depth == 0:
                break
        lines, code = [code[:at + 1]], code[at + 2:]
    begin = code.replace("operator()", "operator  ").find("(")
    if len(code) <= WIDTH or begin < 0:
        return "\n".join([*lines, code])
    parts, depth, end = [""], 0, begin + 1
    for end in range(begin + 1, len(code)):
        depth += {"(": 1, "<": 1, "{": 1, ")": -1, ">": -1, "}": -1}.get(code[end], 0)
        if depth < 0:
            break
        if code[end] == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += code[end]
    return "\n".join([*lines, code[:begin + 1], ",\n".join(f"    {part.strip()}" for part in parts) + code[end:]])


def all_shown(declarations):
    """What is on the pages, with members of types, in order."""
    for one in declarations:
        if is_shown(one) and one.kind != "note":
            yield one
            yield from all_shown(one.members)


def lists_fields(one):
    return one.name == "list_fields"


def is_shown(one):
    """Whether a declaration is on the page: what a reader could guess is told in a word by facts_of()."""
    guessed = "= delete" in one.code or one.name.startswith("~") or (one.name.startswith("operator") and "= default" in one.code)
    in_words = lists_fields(one) or one.name == "kNames" and one.code.startswith("template <>")
    return one.public and one.kind != "import" and not guessed and not in_words


def code_block(lines):
    return '<div class="block cpp"><pre tabindex="0"><code>' + "\n".join(lines) + "\n</code></pre></div>"


class PublicNames:
    def __init__(self, root):
        self.root = root
        self.headers, self.stable = public_headers(root)
        self.files = {header: declarations_of((root / header).read_text()) for header in self.headers}
        self.names, self.imports, self.anchors = {}, {}, {}
        for header in self.headers:
            self.imports.update({one.full_name: f"shoal::{one.code}" for one in self.files[header].declarations if one.kind == "import"})
            for one in all_shown(self.files[header].declarations):
                self.take(header, one)
        for header in self.headers:
            self.take_words(header)
        self.sections = {header: (f"{FOLDER}/{self.module_of(header) or 'index'}", self.short(header)) for header in self.headers}

    def take(self, header, one):
        anchor = one.full_name.removeprefix("shoal::")
        while anchor in self.anchors:
            before, _, number = anchor.partition("-")
            anchor = f"{before}-{int(number or 1) + 1}"
        self.anchors[anchor] = one
        one.anchor, one.header = anchor, header
        self.names.setdefault(one.full_name, one)

    def take_words(self, header):
        """Comments that the sources have as data: help texts of config fields in list_fields(), names of the values of enums in kNames."""
        for one in everything(self.files[header].declarations):
            if lists_fields(one):
                section = re.search(r"\((\w+)&", one.code)[1]
                helps = self.help_texts(header, section)
                for field in self.names[f"{one.scope}::{section}"].members:
                    if field.kind == "variable" and not field.comment and not field.beside:
                        field.beside = helps.get(field.name, "")
            elif one.name == "kNames":
                for name, value in re.findall(r'Named\{"([^"]+)", ([\w:]+)\}', one.code):
                    found = self.find(value, one.scope)
                    if found:
                        found.beside = f"`{name}`" + (f": {found.beside}" if found.beside else "")

    def help_texts(self, header, section):
        """Field -> help text, of a config struct; the .cpp file of its header has them."""
        source = (self.root / header).with_suffix(".cpp").read_text()
        body = re.search(rf"^void list_fields\({section}& config, .*?^}}", source, re.M | re.S)[0]
        return {name: "".join(re.findall(r'"((?:\\.|[^"])*)"', text))
                for name, text in re.findall(r'list\.add\(\s*"(\w+)",\s*config\.\w+,\s*((?:"(?:\\.|[^"])*"\s*)+)', body)}

    @staticmethod
    def module_of(header):
        return header.split("/")[1] if header.count("/") > 1 else ""

    @staticmethod
    def short(header):
        return header.removeprefix("shoal/")

    def find(self, name, scope):
        """The declaration that a name means inside of a scope, as C++ would look for it."""
        while True:
            full = f"{scope}::{name}" if scope else name
            first, _, rest = name.partition("::")
            found = self.names.get(full) or self.names.get(self.imports.get(full, "")) or (
                rest and self.names.get(f"{self.imports.get(f'{scope}::{first}', '')}::{rest}"))
            if found or not scope:
                return found
            scope = scope.rpartition("::")[0]

    def address(self, one):
        return f"{self.module_of(one.header) or 'index'}.html#{one.anchor}"

    def header_named(self, words, beside):
        """The public header that a comment of another one names: world.h, comm/world.h."""
        for header in (posixpath.join(posixpath.dirname(beside), words), f"shoal/{words}", words):
            if header in self.sections:
                return header
        return None

    def without_comment(self):
        """{header: names of types and functions that no comment is about}. A run of functions shares one, and the contract is that of what it names."""
        found = {}
        for header, file in self.files.items():
            contract, told = " ".join(file.contract), False
            for one in all_shown(file.declarations):
                told = bool(one.comment or one.beside) or one.joined and told
                in_contract = re.search(rf"\b{re.escape(one.name)}\b", contract) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", one.name).lower() in header
                if not told and not in_contract and (one.is_type or one.kind == "function"):
                    found.setdefault(header, []).append(one.full_name.removeprefix("shoal::"))
        return found

    # ---- text ----

    def link(self, one, words):
        return f'<a href="{self.address(one)}">{words}</a>'

    def prose(self, text, scope, header):
        """A sentence with names of the library as links."""
        made, place = "", 0
        for found in CODE_WORD.finditer(text):
            made += html.escape(text[place:found.start()], quote=False)
            place = found.end()
            words = found.group(1) or found.group(2)
            is_code = bool(found.group(1) or words.endswith("()") or "::" in words or re.search(r"[a-z][A-Z]|_|\.h$", words))
            begins = not text[:found.start()].rstrip() or text[:found.start()].rstrip()[-1] in ".:;"
            shown = html.escape(words, quote=False)
            one = self.find(words.removesuffix("()"), scope) if is_code or words[0].isupper() and not begins else None
            if not one and words.endswith("()"):  # of a class of this header
                one = next((one for one in all_shown(self.files[header].declarations) if one.name == words[:-2]), None)
            named = self.header_named(words, header) if words.endswith(".h") else None
            if named:
                made += f'<a href="{posixpath.basename(self.sections[named][0])}.html#{self.short(named)}"><code>{shown}</code></a>'
            elif one and one.kind != "value" and (is_code or one.is_type) and not (one.kind == "variable" and not found.group(1) and not words.startswith("k")):
                made += self.link(one, f"<code>{shown}</code>")
            else:
                made += f"<code>{shown}</code>" if found.group(1) or words.endswith(("()", ".h")) or "::" in words else shown
        return made + html.escape(text[place:], quote=False)

    def comment(self, lines, scope, header):
        made, scope = [], scope or "shoal"  # macros have none
        for is_code, some in paragraphs_of(lines):
            if is_code:
                indent = min(len(line) - len(line.lstrip()) for line in some if line)
                made.append(code_block([self.with_comment(line[indent:], scope) for line in some]))
            else:
                made.append(f"<p>{self.prose(' '.join(line.strip() for line in some), scope, header)}</p>")
        return "".join(made)

    def with_comment(self, line, scope):
        code, slashes, comment = line.partition("// ")
        dimmed = f'<span class="comment">{html.escape(slashes + comment, quote=False)}</span>' if slashes else ""
        return self.code(code, scope) + dimmed

    def code(self, code, scope):
        """Code with its types as links."""
        made, place = "", 0
        for found in re.finditer(r'"(?:\\.|[^"])*"|[A-Za-z_]\w*(?:::\w+)*', code):
            made += html.escape(code[place:found.start()], quote=False)
            place, words = found.end(), html.escape(found.group(), quote=False)
            one = self.find(found.group(), scope) if found.group()[0] != '"' else None
            made += self.link(one, words) if one and one.kind in ("class", "struct", "enum", "alias", "concept") else words
        return made + html.escape(code[place:], quote=False)

    def declared(self, one):
        """A declaration as code, with its own name as the target of links."""
        text = wrapped(one.code)
        names = list(re.finditer(re.escape(one.name) + (r"(?=\()" if one.kind == "function" else r"(?!\w)"), text.split(" = ")[0]))
        inner = one.full_name if one.is_type else one.scope
        at = names[-1] if names else re.match("", text)
        if one.kind == "function":
            at = names[0]
        own = f'<b id="{one.anchor}">{html.escape(text[at.start():at.end()], quote=False)}</b>'
        return self.code(text[:at.start()], inner) + own + self.code(text[at.end():], inner)
