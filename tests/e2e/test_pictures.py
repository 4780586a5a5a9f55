# SPDX-License-Identifier: Apache-2.0
"""The pictures of README.md and docs/tour.md exist, are small, and have the right form; terminal output is converted to
SVG.
"""

import re
import sys
import xml.etree.ElementTree

import pytest

from conftest import SOURCE

sys.path.insert(0, str(SOURCE / "tools"))
import terminal_svg  # noqa: E402

# The same limits as in tools/make-pictures.
BYTES = {".png": 150_000, ".svg": 60_000}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", ["README.md", "docs/tour.md"])
def test_pictures_of_a_document(name):
    text = (SOURCE / name).read_text()
    paths = [(SOURCE / name).parent / path for path in re.findall(r'\b(?:src|srcset)="([^"]+)"', text)]
    assert {path.name for path in paths} == {"report-light.png", "report-dark.png", "top.svg"}
    for path in paths:
        assert 1000 < path.stat().st_size < BYTES[path.suffix], path
    images = re.findall(r"<img [^>]*>", text)
    assert len(images) == 2 and all(re.search(r' alt="[^"]{40,}"', image) for image in images)


@pytest.mark.parametrize("name", ["report-light.png", "report-dark.png"])
def test_page_is_a_png_without_comments(name):
    data, kinds = (SOURCE / "docs/pictures" / name).read_bytes(), []
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at = 8
    while at < len(data):
        kinds.append(data[at + 4 : at + 8])
        at += 12 + int.from_bytes(data[at : at + 4], "big")
    assert set(kinds) <= {b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"}


def test_terminal_is_text():
    root = xml.etree.ElementTree.parse(SOURCE / "docs/pictures/top.svg").getroot()
    text = " ".join(element.text for element in root.iter(f"{SVG}text"))
    for word in ("baro top", "cores", "memory", "phases", "compile", "test", "PID", "COMMAND", "xargs", "quit"):
        assert word in text
    assert not re.search(r"/(home|root|work|tmp/(?!demo))\b", text)


def test_sgr_sequences():
    text = "a\x1b[1;38;5;196mred\x1b[0m  \x1b[38;2;1;2;3m<&\x1b[39m\x1b[7m█─\x1b[0m\x1b[97;44mz"
    root = xml.etree.ElementTree.fromstring(terminal_svg.draw(text, 20, 1, "title", "what it is"))
    rules = dict(re.findall(r"\.(s\d+)\{(.*?)\}", root.find(f"{SVG}style").text))
    texts = [(e.text, rules[e.get("class")], float(e.get("x"))) for e in root.iter(f"{SVG}text") if e.get("class")]
    column = [terminal_svg.FRAME + i * terminal_svg.CELL_WIDTH for i in range(20)]
    assert texts == [("a", f"fill:{terminal_svg.TEXT}", pytest.approx(column[0], abs=0.01)),
                     ("red", "fill:#ff0000;font-weight:bold", pytest.approx(column[1], abs=0.01)),
                     ("<&", "fill:#010203", pytest.approx(column[6], abs=0.01)),
                     ("z", "fill:#ffffff", pytest.approx(column[10], abs=0.01))]
    paths = {e.get("fill"): e.get("d") for e in root.iter(f"{SVG}path")}
    assert set(paths) == {terminal_svg.TEXT, "#6ca8ef", terminal_svg.GROUND}
    assert paths[terminal_svg.GROUND].count("z") == 3, "a block and both halves of a line"
