"""One Markdown page as HTML: python3-markdown, with the anchors of headings and the info strings of blocks that the rest of the tree uses.

    page = RenderedPage("docs/plan.md", text)
    page.title, page.anchors, page.contents     known before links are resolved
    page.html(resolve)                          resolve(target) gives the address of what a link or a picture names
"""
import html
import re
import unicodedata

import markdown

from fences import blocks_of

COMMENT = re.compile(r"(^|\s)(#.*)$")
CAPTIONS = {"sh": "", "text": "", "yaml": "YAML", "cpp": "C++", "json": "JSON", "python": "Python", "cmake": "CMake"}


def slug(words, _separator="-"):
    """The anchor that code hosts give to a heading, so that links work in both places."""
    words = unicodedata.normalize("NFC", words).strip().lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def highlighted(language, line):
    """A line of code with its comment in a span."""
    found = COMMENT.search(line) if language in ("sh", "yaml", "python", "cmake") else None
    if not found or line[:found.start(2)].count("'") % 2 or line[:found.start(2)].count('"') % 2:
        return html.escape(line, quote=False)
    return html.escape(line[:found.start(2)], quote=False) + f'<span class="comment">{html.escape(found.group(2), quote=False)}</span>'


def code_of(block):
    """A block as HTML; commands that run elsewhere say where, an output is joined to its commands."""
    language = (block.info or "text").split()[0]
    code = "\n".join(highlighted(language, line) for line in block.lines)
    kinds = [f"block {html.escape(language)}"]
    caption = CAPTIONS.get(language, language)
    if block.elsewhere:
        caption = f"run by {block.elsewhere}" if " " not in block.elsewhere.strip() else f"not run here: {block.elsewhere}"
    if language == "text" and block.follows is not None and block.follows.info.startswith("sh"):
        kinds.append("output")
    head = f'<div class="caption">{html.escape(caption)}</div>' if caption else ""
    return f'<div class="{" ".join(kinds)}">{head}<pre tabindex="0"><code class="language-{html.escape(language)}">{code}\n</code></pre></div>'


def without_blocks(text):
    """The text with a paragraph of its own in place of each fenced block, and the HTML of the blocks."""
    blocks = {block.line: block for block in blocks_of(text)}
    lines, pieces, skipped = [], [], 0
    for number, line in enumerate(text.splitlines(), 1):
        if skipped:
            skipped -= 1
        elif number in blocks:
            block = blocks[number]
            skipped = len(block.lines) + 1
            indent = len(line) - len(line.lstrip())
            lines += ["", " " * indent + f"fencedblock{len(pieces)}end", ""]
            pieces.append(code_of(block))
        else:
            lines.append(line)
    return lines, pieces


def as_markdown_reads(lines):
    """Spellings that code hosts take and python-markdown does not: a list, or its next item, right behind a paragraph, and \\| in code of a table."""
    made, in_item = [], False  # in_item: this line may go on an item that began without an empty line since
    for line in lines:
        is_item = bool(re.match(r" *([-*]|\d+\.) ", line))
        if is_item and not in_item and made and made[-1].strip():
            made.append("")
        in_item = is_item or (in_item and bool(line.strip()))
        if line.startswith("|"):
            line = re.sub(r"`[^`]*`", lambda code: code.group().replace("\\|", "|"), line)
        made.append(line)
    return "\n".join(made)


def plain(text):
    """The words of a piece of HTML."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", text))).strip()


class RenderedPage:
    def __init__(self, path, text, title=None):
        self.path = self.source = path
        lines, self._blocks = without_blocks(text)
        reader = markdown.Markdown(extensions=["tables", "fenced_code", "toc", "sane_lists"], tab_length=2,
                                   extension_configs={"toc": {"slugify": slug, "permalink": "#", "permalink_title": "link to this heading"}})
        self._html = reader.convert(as_markdown_reads(lines))
        heads = [token for first in reader.toc_tokens for token in [first, *first["children"]]]
        self.title = title or (html.unescape(reader.toc_tokens[0]["name"]) if reader.toc_tokens else path)
        self.contents = [(token["id"], html.unescape(token["name"])) for token in heads if token["level"] == 2]
        self.anchors = set(re.findall(r'\bid="([^"]+)"', self._html))
        self.passages = list(self._passages())

    def _with_blocks(self, text):
        text = re.sub(r"<p>fencedblock(\d+)end</p>", lambda found: self._blocks[int(found.group(1))], text)
        return re.sub(r"fencedblock(\d+)end", lambda found: self._blocks[int(found.group(1))], text)

    def _passages(self):
        """(heading, anchor, plain text) of each part of the page, for the search."""
        for part in re.split(r"(?=<h[1-4] id=)", self._html):
            head = re.match(r'<h([1-4]) id="([^"]+)">(.*?)<a class="headerlink".*?</h\1>', part, re.S)
            words = plain(self._with_blocks(part[head.end():] if head else part))
            if head and head.group(1) != "1":
                yield plain(head.group(3)), head.group(2), words
            elif words:
                yield "", "", words

    def html(self, resolve):
        text = re.sub(r'(<a href|<img alt="[^"]*" src)="([^"#][^"]*|#[^"]+)"',
                      lambda found: f'{found.group(1)}="{html.escape(resolve(html.unescape(found.group(2))))}"', self._html)
        text = text.replace("<table>", '<div class="wide" tabindex="0"><table>').replace("</table>", "</table></div>")
        text = re.sub(r"<pre><code>(.*?)</code></pre>", r'<div class="block text"><pre tabindex="0"><code>\1</code></pre></div>', text, flags=re.S)
        return self._with_blocks(text)
