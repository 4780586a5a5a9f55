#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the files that baro-serve has in it as C strings.

    embed.py openapi.json page.css palette.c host.html host.css shared.js host.js job.html job.js OUTPUT.c

The style sheet begins with what the page of a report begins with (page.css up to its mark "verdict"), so that both look
alike. Colours come from palette.c, as in output/page/embed.py.
"""

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


def main():
    texts = [pathlib.Path(path).read_text(encoding="utf-8") for path in sys.argv[1:10]]
    openapi, page, palette, html, css, shared, js, job_html, job_js = texts
    light, dark = re.findall(r"\{((?:0x[0-9a-f]{6},? ?)+)\}", palette)
    css = page[: page.index("/* verdict */")] + css
    for mark, colors in (("@LIGHT@", light), ("@DARK@", dark)):
        css = css.replace(mark, " ".join(f"--k{i}: #{color};" for i, color in enumerate(re.findall("0x([0-9a-f]{6})", colors))))
    digest = hashlib.sha256((html + css + shared + js + job_html + job_js).encode()).hexdigest()[:16]
    text = '/* Made by embed.py. */\n#include "programs/baro-serve/files.h"\n\n'
    for name, content in (("openapi", openapi), ("html", html), ("css", css), ("shared_js", shared), ("js", js), ("job_html", job_html),
                          ("job_js", job_js), ("version", digest)):
        text += literal(f"serve_{name}", content)
    pathlib.Path(sys.argv[10]).write_text(text, encoding="utf-8")


main()
