# SPDX-License-Identifier: Apache-2.0
"""Makes an SVG picture of a terminal's content. Text stays text; blocks and lines are drawn, because fonts leave gaps
between them.

The input is the output of `tmux capture-pane -p -e`: lines with SGR sequences. Every character is one column wide.
"""

import html
import re
from typing import NamedTuple

# A cell in pixels, for a font size of 14; the frame around the screen; the bar of the window.
CELL_WIDTH, CELL_HEIGHT, FRAME, BAR = 8.43, 19, 16, 34
GROUND, TEXT = "#14181f", "#d5dae3"

BASE = "1c2129 e5686e 7fc77f e0c15a 6ca8ef c58be0 5cc2c9 d5dae3 6b7484 ff8087 9be39b ffe07a 8cc0ff dca6f5 7ee0e6 ffffff".split()
BLOCKS = {character: eighths + 1 for eighths, character in enumerate("▁▂▃▄▅▆▇█")}
# Which halves of a cell have a line: left, right, up, down.
STROKES = {
    "─": "lr",
    "│": "ud",
    "├": "rud",
    "└": "ru",
    "┌": "rd",
    "┐": "ld",
    "┘": "lu",
    "┤": "lud",
    "┬": "lrd",
    "┴": "lru",
    "┼": "lrud",
}


class Style(NamedTuple):
    color: str = ""
    ground: str = ""
    bold: bool = False
    reverse: bool = False


def palette(n):
    """Returns a color of the 256 that xterm has."""
    if n < 16:
        return f"#{BASE[n]}"
    if n >= 232:
        return f"#{8 + (n - 232) * 10:02x}" + f"{8 + (n - 232) * 10:02x}" * 2
    parts = ((n - 16) // 36, (n - 16) // 6 % 6, (n - 16) % 6)
    return "#" + "".join(f"{55 + 40 * part if part else 0:02x}" for part in parts)


def chosen(numbers):
    """Returns the color after 38 or 48: 5;N or 2;R;G;B."""
    if next(numbers, 0) == 5:
        return palette(next(numbers, 0))
    return "#" + "".join(f"{next(numbers, 0):02x}" for _ in range(3))


def styled(style, sequence):
    """Returns the style after an SGR sequence."""
    numbers = iter([int(n or 0) for n in sequence.split(";")])
    for n in numbers:
        if n == 0:
            style = Style()
        elif n in (1, 22):
            style = style._replace(bold=n == 1)
        elif n in (7, 27):
            style = style._replace(reverse=n == 7)
        elif n in (38, 39) or 30 <= n <= 37 or 90 <= n <= 97:
            color = chosen(numbers) if n == 38 else "" if n == 39 else palette(n - 30 if n < 40 else n - 82)
            style = style._replace(color=color)
        elif n in (48, 49) or 40 <= n <= 47 or 100 <= n <= 107:
            color = chosen(numbers) if n == 48 else "" if n == 49 else palette(n - 40 if n < 50 else n - 92)
            style = style._replace(ground=color)
    return style


def screen(text, columns, lines):
    """Returns rows of (character, style)."""
    style, rows = Style(), []
    for line in text.split("\n")[:lines]:
        row = []
        for sequence, character in re.findall(r"\x1b\[([\d;]*)m|([^\x00-\x1f\x7f])", line):
            if character:
                row.append((character, style))
            else:
                style = styled(style, sequence)
        rows.append(row[:columns])
    return rows


def runs(cells):
    """Yields (first column, cells) of neighbours with the same key; cells are (key, character)."""
    begin = 0
    for i in range(1, len(cells) + 1):
        if i == len(cells) or cells[i][0] != cells[begin][0]:
            yield begin, cells[begin:i]
            begin = i


def colors(style):
    fore, back = style.color or TEXT, style.ground
    return (style.ground or GROUND, fore) if style.reverse else (fore, back)


def box(x, y, width, height):
    return f"M{x:.6g} {y:.6g}h{width:.6g}v{height:.6g}h{-width:.6g}z"


def shape(character, x, y):
    """Returns the path of a block or of lines, in a cell whose upper left corner is (x, y)."""
    if character in BLOCKS:
        height = CELL_HEIGHT * BLOCKS[character] / 8
        return box(x, y + CELL_HEIGHT - height, CELL_WIDTH, height)
    middle_x, middle_y, path = x + CELL_WIDTH / 2, y + CELL_HEIGHT / 2, ""
    for side in STROKES[character]:
        if side in "lr":
            path += box(x if side == "l" else middle_x, middle_y - 0.6, CELL_WIDTH / 2, 1.2)
        else:
            path += box(middle_x - 0.6, y if side == "u" else middle_y, 1.2, CELL_HEIGHT / 2)
    return path


def words(text):
    """Yields (column, part) of parts without two blanks in a row: each is put at its column, whatever the font's width.
    """
    return [(m.start(), m.group()) for m in re.finditer(r"\S+(?: \S+)*", text)]


class Drawing:
    def __init__(self):
        self.grounds, self.shapes, self.texts, self.classes = {}, {}, [], {}

    def class_of(self, color, bold):
        rule = f"fill:{color}" + (";font-weight:bold" if bold else "")
        return self.classes.setdefault(rule, f"s{len(self.classes)}")

    def row(self, cells, y):
        for begin, run in runs([(colors(style)[1], c) for c, style in cells]):
            if run[0][0]:
                path = box(FRAME + begin * CELL_WIDTH, y, len(run) * CELL_WIDTH, CELL_HEIGHT)
                self.grounds[run[0][0]] = self.grounds.get(run[0][0], "") + path
        for i, (c, style) in enumerate(cells):
            if c in BLOCKS or c in STROKES:
                color = colors(style)[0]
                self.shapes[color] = self.shapes.get(color, "") + shape(c, FRAME + i * CELL_WIDTH, y)
        shown = [((colors(style)[0], style.bold), " " if c in BLOCKS or c in STROKES else c) for c, style in cells]
        for begin, run in runs(shown):
            for column, part in words("".join(c for _, c in run)):
                self.text(begin + column, y, part, self.class_of(*run[0][0]))

    def text(self, column, y, text, name):
        x, length = FRAME + column * CELL_WIDTH, len(text) * CELL_WIDTH
        size = f' textLength="{length:.5g}" lengthAdjust="spacingAndGlyphs"' if len(text) > 1 else ""
        self.texts.append(f'<text class="{name}" x="{x:.5g}" y="{y + 14:.5g}"{size}>{html.escape(text, False)}</text>')


def draw(text, columns, lines, title, words_for_it):
    drawing = Drawing()
    for i, cells in enumerate(screen(text, columns, lines)):
        drawing.row(cells, BAR + i * CELL_HEIGHT)
    width, height = round(2 * FRAME + columns * CELL_WIDTH), BAR + lines * CELL_HEIGHT + FRAME
    rules = "".join(f".{name}{{{rule}}}" for rule, name in drawing.classes.items())
    fonts = "ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,'Liberation Mono',monospace"
    dots = "".join(f'<circle cx="{20 + 18 * i}" cy="17" r="5.5" fill="#3a4351"/>' for i in range(3))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
        f"<title>{html.escape(words_for_it)}</title>",
        f"<style>text{{font:14px {fonts};white-space:pre}}{rules}</style>",
        f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="9" fill="{GROUND}" stroke="#343c49"/>{dots}',
        f'<text x="{width / 2}" y="22" text-anchor="middle" fill="#8b95a5">{html.escape(title)}</text>',
        *(f'<path fill="{color}" d="{path}"/>' for color, path in drawing.grounds.items()),
        *(f'<path fill="{color}" d="{path}"/>' for color, path in drawing.shapes.items()),
        *drawing.texts,
    ]
    return "\n".join(parts) + "\n</svg>\n"
