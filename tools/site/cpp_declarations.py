"""The declarations of a C++ file with the comments that belong to them, for tools/site/api.py.

    found = declarations_of(pathlib.Path("shoal/comm/world.h").read_text())
    found.contract                       the lines of the comment at the head
    found.declarations[1].name           "World"; its members are in .members

This is no C++ parser: it reads what clang-format leaves of headers in the style of this tree. Namespaces, types, functions, variables, aliases, concepts
and macros are told apart by their first words and by where the first parenthesis stands; bodies of functions are skipped. A comment belongs to what
stands in the line below it, or beside it; one with an empty line behind it is a note between declarations. Macros that open scopes, several declarators in
one line and headers without `#pragma once` are not understood.
"""
import dataclasses
import re

TOKEN = re.compile(r"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<text>R"(?P<mark_of_text>\w*)\(.*?\)(?P=mark_of_text)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')
  | (?P<directive>^\#(?:\\\n|[^\n])*)
  | (?P<word>\d[\w'.]*|[A-Za-z_]\w*)
  | (?P<mark>::|->|\[\[|\]\]|\S)""", re.X | re.M | re.S)
CLOSING = {"(": ")", "[": "]", "{": "}", "[[": "]]"}
TYPES = {"class", "struct", "union", "enum"}
HEADING = re.compile(r"-+ (.*?) -+")  # ---- weights ----
TOOL_COMMENT = re.compile(r"//\s*NOLINT")


@dataclasses.dataclass
class Token:
    kind: str
    text: str
    begin: int
    end: int
    line: int  # of its first character
    last_line: int
    alone: bool  # nothing stands before it in its line


@dataclasses.dataclass(eq=False)
class Declaration:
    kind: str  # class, struct, union, enum, value, function, variable, alias, import, concept, macro, note
    name: str
    scope: str  # "shoal::comm::World"
    code: str = ""  # without its body and its comments, in one line
    comment: list = dataclasses.field(default_factory=list)  # lines of the comment above it, without //
    beside: str = ""  # the comment behind it
    members: list = dataclasses.field(default_factory=list)  # of a type that are public, in order; values of an enum
    body: str = ""
    public: bool = True
    joined: bool = False  # right below the declaration before it, with neither a comment nor an empty line between
    begin: int = 0  # offsets in the text, with the comment above it and its body
    end: int = 0

    @property
    def full_name(self):
        return f"{self.scope}::{self.name}" if self.scope else self.name

    @property
    def is_type(self):
        return self.kind in TYPES


@dataclasses.dataclass
class File:
    contract: list
    declarations: list


def tokens_of(text):
    line, place, tokens = 1, 0, []
    for found in TOKEN.finditer(text):
        line += text.count("\n", place, found.start())
        place = found.start()
        if found.lastgroup == "comment" and TOOL_COMMENT.match(found.group()):
            continue
        kind = next(name for name in ("comment", "text", "directive", "word", "mark") if found.group(name) is not None)
        alone = not text[text.rfind("\n", 0, place) + 1:place].strip()
        tokens.append(Token(kind, found.group(), place, found.end(), line, line + found.group().count("\n"), alone))
    return tokens


def without_slashes(lines):
    return [re.sub(r"^// ?", "", line).rstrip() for line in lines]


class Reader:
    def __init__(self, text):
        self.text, self.tokens, self.at = text, tokens_of(text), 0

    # ---- tokens ----

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def is_next(self, *texts):
        return self.at < len(self.tokens) and self.tokens[self.at].text in texts

    def skip_balanced(self):
        """Moves behind the bracket that closes the one at this place."""
        opened = [self.tokens[self.at].text]
        self.at += 1
        while opened:
            text = self.tokens[self.at].text if self.tokens[self.at].kind == "mark" else ""
            if text == CLOSING[opened[-1]]:
                opened.pop()
            elif text in CLOSING:
                opened.append(text)
            self.at += 1

    def skip_angles(self):
        depth = 0
        while True:
            token = self.tokens[self.at]
            depth += {"<": 1, ">": -1}.get(token.text, 0)
            self.at += 1
            if depth == 0:
                return

    def code_between(self, first, last):
        """The tokens [first, last) in one line, spaced as they were, without comments and attributes."""
        code, before, attribute = "", None, False
        for token in self.tokens[first:last]:
            attribute = attribute or token.text == "[["
            if token.kind != "comment" and not attribute:
                code += (" " if before is not None and before.end < token.begin else "") + token.text
            if token.kind != "comment":
                before = token
            attribute = attribute and token.text != "]]"
        return code.replace("( ", "(").strip().removeprefix("inline ").replace("> inline ", "> ")

    # ---- comments ----

    def comment_block(self):
        """The lines of the comment that begins here, and whether something stands right below it."""
        lines, line = [], None
        while (token := self.peek()) and token.kind == "comment" and token.alone and line in (None, token.line - 1):
            lines.append(token.text)
            line = token.last_line
            self.at += 1
        token = self.peek()
        return without_slashes(lines), bool(token and token.line == line + 1 and token.text != "}")

    def comment_beside(self, line):
        token = self.peek()
        if token and token.kind == "comment" and not token.alone and token.line == line:
            self.at += 1
            return without_slashes([token.text])[0]
        return ""

    # ---- declarations ----

    def file(self):
        contract = self.comment_block()[0] if self.peek() and self.peek().kind == "comment" else []
        return File(contract, self.scope("", True))

    def scope(self, name, public):
        """The declarations up to the bracket that closes this scope, which is taken."""
        found, comment, began, last_line = [], [], None, -1
        while token := self.peek():
            if token.text == "}":
                self.at += 1
                break
            if token.kind == "comment":
                began = token.begin
                lines, belongs = self.comment_block() if token.alone else ([], False)
                if not token.alone:
                    self.at += 1  # behind a bracket: of no declaration
                belongs = belongs and not HEADING.fullmatch(lines[0])
                comment = lines if belongs else []
                if lines and not belongs:
                    found.append(Declaration("note", "", name, comment=lines, public=public))
                continue
            if token.kind == "word" and token.text in ("public", "private", "protected") and self.tokens[self.at + 1].text == ":":
                public, comment = token.text == "public", []
                self.at += 2
                continue
            if token.text == "namespace":
                found += self.namespace(name)
                comment, began = [], None
                continue
            made = self.directive() if token.kind == "directive" else self.declaration(name)
            for one in made:
                one.public = one.public and public
                one.joined = not comment and token.line == last_line + 1
                one.begin = one.begin if began is None or not comment else began
            if made:
                made[0].comment = comment or made[0].comment
            last_line = self.tokens[self.at - 1].last_line
            beside = self.comment_beside(last_line)
            if made and not made[-1].members:
                made[-1].beside = beside
            found += made
            comment, began = [], None
        return found

    def namespace(self, scope):
        first = self.at + 1
        while not self.is_next("{"):
            self.at += 1
        inner = "".join(token.text for token in self.tokens[first:self.at])
        self.at += 1
        return self.scope("::".join(part for part in (scope, inner) if part), True)

    def directive(self):
        token = self.tokens[self.at]
        self.at += 1
        found = re.match(r"#define (\w+)(\([^)]*\))?(.*)", token.text)
        if not found:
            return []
        value = "" if found[2] or found[3].strip() == "\\" else found[3].rstrip()
        return [Declaration("macro", found[1], "", f"#define {found[1]}{found[2] or ''}{value}", begin=token.begin, end=token.end)]

    def declaration(self, scope):
        """What is declared here: nothing for a declaration without interest, two for a type with a variable of it."""
        first = self.at
        begin = self.tokens[first].begin
        while self.is_next("template", "[["):
            if self.is_next("template"):
                self.at += 1
                self.skip_angles()
            else:
                self.skip_balanced()
        word = self.tokens[self.at].text
        if word in TYPES:
            made = self.type(scope, first, word)
        elif word in ("using", "concept", "friend", "static_assert"):
            made = self.simple(scope, first, word)
        else:
            made = self.function_or_variable(scope, first)
        for one in made:
            one.begin, one.end = begin, self.tokens[self.at - 1].end
        return made

    def simple(self, scope, first, word):
        name = self.tokens[self.at + 1].text
        while not self.is_next(";"):
            if self.is_next("{", "("):
                self.skip_balanced()
            else:
                self.at += 1
        code = self.code_between(first, self.at)
        self.at += 1
        if word in ("friend", "static_assert"):
            return []
        if word == "using" and "=" not in code:
            return [Declaration("import", code.rpartition("::")[2], scope, code.removeprefix("using ").strip())]
        return [Declaration("alias" if word == "using" else "concept", name, scope, code)]

    def type(self, scope, first, word):
        while self.is_next("class", "struct", "union", "enum", "[["):
            if self.is_next("[["):
                self.skip_balanced()
            else:
                self.at += 1
        name_at = self.at
        self.at += 1
        if self.is_next("<"):
            self.skip_angles()
        name = self.code_between(name_at, self.at)
        while not self.is_next("{", ";"):
            self.at += 1
        code = self.code_between(first, self.at)
        if self.is_next(";"):  # declared here, defined elsewhere
            self.at += 1
            return []
        self.at += 1
        made = Declaration(word, name, scope, code)
        full = made.full_name
        made.members = self.values(full) if word == "enum" else self.scope(full, word != "class")
        after = self.at
        while not self.is_next(";"):
            self.at += 1
        self.at += 1
        if after == self.at - 1:
            return [made]
        variable = self.code_between(after, self.at - 1)
        return [made, Declaration("variable", variable.split()[0], scope, f"{name} {variable}")]

    def values(self, scope):
        """The values of an enum, up to the bracket that closes it, which is taken."""
        found, comment = [], []
        while not self.is_next("}"):
            if self.peek().kind == "comment":
                comment = self.comment_block()[0]
                continue
            first = self.at
            while not self.is_next(",", "}") and self.peek().kind != "comment":
                self.at += 1
            value = Declaration("value", self.tokens[first].text, scope, self.code_between(first, self.at), comment)
            if self.is_next(","):
                self.at += 1
            value.beside = self.comment_beside(self.tokens[self.at - 1].line)
            found.append(value)
            comment = []
        self.at += 1
        return found

    def function_or_variable(self, scope, first):
        name, is_function, has_value, end, body, angles = "", False, False, None, "", 0
        while not self.is_next(";"):
            token, before = self.tokens[self.at], self.tokens[self.at - 1]
            if token.text == "operator":
                while not self.is_next("(") or self.tokens[self.at - 1].text == "operator":
                    self.at += 1 if not self.is_next("(") else 2
                name, is_function = self.code_between(self.tokens.index(token, first), self.at), True
                self.skip_balanced()
            elif token.text == "(" and not is_function and not has_value and angles == 0 and self.tokens[self.at + 1].text == "*":
                name = self.tokens[self.at + 2].text  # a pointer to a function
                self.skip_balanced()
            elif token.text == "(" and not name and not has_value and angles == 0:
                name, is_function = ("~" if self.tokens[self.at - 2].text == "~" else "") + before.text, True
                self.skip_balanced()
            elif token.text == ":" and is_function:  # what a constructor initializes
                end = end or self.at
                self.at += 1
            elif token.text == "{" and is_function and not has_value and not (end and before.kind == "word"):
                end = end or self.at
                opened = self.at
                self.skip_balanced()
                while self.is_next("catch"):
                    self.at += 1
                    self.skip_balanced()
                    self.skip_balanced()
                body = self.text[self.tokens[opened].begin:self.tokens[self.at - 1].end]
                if self.is_next(";"):
                    self.at += 1
                break
            elif token.text in ("(", "{", "["):
                if token.text in ("{", "[") and not name and angles == 0:
                    name = self.name_before(first)
                self.skip_balanced()
            else:
                if not has_value and not is_function:
                    angles += {"<": 1, ">": -1}.get(token.text, 0)
                if token.text == "=" and not is_function and angles == 0:
                    name, has_value = name or self.name_before(first), True
                self.at += 1
        else:
            end = end or self.at
            name = name or self.name_before(first)
            self.at += 1
        code = self.code_between(first, end)
        if is_function and " -> " in code and "auto " not in code:
            return []  # helps the compiler to deduce arguments
        return [Declaration("function" if is_function else "variable", name, scope, code, body=body)]

    def name_before(self, first):
        """The name that ends here, without its template arguments."""
        at = self.at - 1
        while at > first and self.tokens[at].kind != "word":
            at -= 1
        if self.tokens[self.at - 1].text == ">":
            depth, at = 0, self.at - 1
            while at > first:
                depth += {">": 1, "<": -1}.get(self.tokens[at].text, 0)
                at -= 1
                if depth == 0:
                    break
        return self.tokens[at].text


def declarations_of(text):
    return Reader(text).file()


def everything(declarations):
    """These declarations with their members, in order."""
    for one in declarations:
        yield one
        yield from everything(one.members)
