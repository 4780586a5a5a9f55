#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the files that are part of baro-serve as C strings.

    embed.py openapi.json page.css palette.c host.html host.css shared.js host.js job.html job.js OUTPUT.c

The style sheet begins like that of a report's page (page.css up to its mark "verdict"), so that both look alike. Colours come from palette.c (tools/embedded.py).
"""

import hashlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))
from embedded import literal, with_colors  # noqa: E402


def main():
    texts = [pathlib.Path(path).read_text(encoding="utf-8") for path in sys.argv[1:10]]
    openapi, page, palette, html, css, shared, js, job_html, job_js = texts
    css = page[: page.index("/* verdict */")] + css
    css = with_colors(css, palette)
    digest = hashlib.sha256((html + css + shared + js + job_html + job_js).encode()).hexdigest()[:16]
    text = '/* Made by embed.py. */\n#include "programs/baro-serve/embedded.h"\n\n'
    for name, content in (
        ("openapi", openapi),
        ("html", html),
        ("css", css),
        ("shared_js", shared),
        ("js", js),
        ("job_html", job_html),
        ("job_js", job_js),
        ("version", digest),
    ):
        text += literal(f"serve_{name}", content)
    pathlib.Path(sys.argv[10]).write_text(text, encoding="utf-8")


main()
