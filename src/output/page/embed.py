#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes page.css and page.js as C strings, and the content security policy that allows these two and nothing else.

    embed.py page.css page.js palette.c OUTPUT.c

@LIGHT@ and @DARK@ in the style sheet become the colours of src/output/chart/palette.c, as --k0 to --k10.
"""

import base64
import hashlib
import pathlib
import re
import sys


def literal(name, text):
    lines = []
    for line in text.splitlines(keepends=True):
        line = line.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("\n", "\\n").replace("?", "\\?")
        lines.append(f'    "{line}"')
    return f"const char {name}[] =\n" + "\n".join(lines) + ";\n"


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def main():
    css, js, palette = (pathlib.Path(path).read_text(encoding="utf-8") for path in sys.argv[1:4])
    light, dark = re.findall(r"\{((?:0x[0-9a-f]{6},? ?)+)\}", palette)
    for mark, colors in (("@LIGHT@", light), ("@DARK@", dark)):
        css = css.replace(mark, " ".join(f"--k{i}: #{color};" for i, color in enumerate(re.findall("0x([0-9a-f]{6})", colors))))
    for text in (css, js):
        assert "</" not in text and "@" + "LIGHT" not in text, "an end tag would end the element that it stands in"
    policy = f"default-src 'none'; script-src {digest(js)}; style-src {digest(css)}; base-uri 'none'; form-action 'none'"
    text = '/* Made by embed.py. */\n#include "output/page/parts.h"\n\n'
    text += literal("page_css", css) + literal("page_js", js) + literal("page_csp", policy)
    pathlib.Path(sys.argv[4]).write_text(text, encoding="utf-8")


main()
