# SPDX-License-Identifier: Apache-2.0
"""What src/output/page/embed.py and src/programs/baro-serve/embed.py share: files as C strings, colours in style sheets."""

import re


def literal(name, text):
    """Returns the definition of a C string."""
    lines = []
    for line in text.splitlines(keepends=True):
        line = (
            line.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("\n", "\\n").replace("?", "\\?")
        )
        lines.append(f'    "{line}"')
    return f"const char {name}[] =\n" + "\n".join(lines) + ";\n"


def with_colors(css, palette):
    """Replaces @LIGHT@ and @DARK@ by the colours of src/output/chart/palette.c, as --k0 to --k10."""
    light, dark = re.findall(r"\{((?:0x[0-9a-f]{6},? ?)+)\}", palette)
    for mark, colors in (("@LIGHT@", light), ("@DARK@", dark)):
        css = css.replace(
            mark, " ".join(f"--k{i}: #{color};" for i, color in enumerate(re.findall("0x([0-9a-f]{6})", colors)))
        )
    return css
