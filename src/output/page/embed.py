#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes page.css and page.js as C strings, and the content security policy that allows these two and nothing else.

    embed.py page.css page.js palette.c OUTPUT.c

tools/embedded.py puts in the colours.
"""

import base64
import hashlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))
from embedded import literal, with_colors  # noqa: E402


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def main():
    css, js, palette = (pathlib.Path(path).read_text(encoding="utf-8") for path in sys.argv[1:4])
    css = with_colors(css, palette)
    for text in (css, js):
        assert "</" not in text and "@" + "LIGHT" not in text, "an end tag would end the element that it stands in"
    policy = (
        f"default-src 'none'; script-src {digest(js)}; style-src {digest(css)}; base-uri 'none'; form-action 'none'"
    )
    text = '/* Made by embed.py. */\n#include "output/page/parts.h"\n\n'
    text += literal("page_css", css) + literal("page_js", js) + literal("page_csp", policy)
    pathlib.Path(sys.argv[4]).write_text(text, encoding="utf-8")


main()
