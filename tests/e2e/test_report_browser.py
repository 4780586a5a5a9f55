# SPDX-License-Identifier: Apache-2.0
"""The page of `baro report` in a browser: it makes no request, reports no error, and its controls work."""

import re
import subprocess
import sys

import pytest
from browser import CHROMIUM, Browser
from readers import HOSTILE, HOSTILE_NAME, good

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not CHROMIUM, reason="no Chromium"),
              pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def page(baro, tmp_path_factory):
    work = tmp_path_factory.mktemp("browser")
    script = work / "hostile.py"
    script.write_text(HOSTILE)
    shell = f"sleep 0.3; {sys.executable} {script} '</script><script>window.hit=1</script>' '\"><img src=x onerror=window.hit=1>'; exit 3"
    subprocess.run([baro, "run", "-q", "-i", "50ms", "-o", work / "t.baro", "--", "sh", "-c", shell],
                   env={"NAME": HOSTILE_NAME, b"PATH": b"/usr/bin:/bin"}, timeout=120)
    good(baro, "report", "-o", work / "t.html", work / "t.baro")
    browser = Browser(work / "profile")
    browser.open(f"file://{work}/t.html")
    yield browser
    browser.close()


def view(page):
    return page.run("document.querySelector('.chart .in').getAttribute('viewBox').split(' ').map(Number)")


def box(page, selector):
    return page.run(
        f"(() => {{ const e = document.querySelector({selector!r}); e.scrollIntoView({{block: 'center'}}); const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; }})()"
    )


def test_nothing_leaves_the_page(page):
    assert [u for u in page.requests() if not u.startswith("file://")] == [] and len(page.requests()) == 1
    assert page.complaints() == []
    assert page.run("window.hit === undefined && document.images.length === 0")


def test_drag_zooms(page):
    whole = view(page)
    x, y, width, height = box(page, "#c-cpu .tp")
    page.mouse("mouseMoved", x + width * 0.25, y + height / 2)
    page.mouse("mousePressed", x + width * 0.25, y + height / 2, buttons=1)
    page.mouse("mouseMoved", x + width * 0.5, y + height / 2, buttons=1)
    page.mouse("mouseReleased", x + width * 0.5, y + height / 2)
    part = view(page)
    assert abs(part[0] - whole[2] * 0.25) < whole[2] * 0.01 and abs(part[2] - whole[2] * 0.25) < whole[2] * 0.01
    boxes = page.run(
        "[...document.querySelectorAll('.chart .in')].map(e => e.getAttribute('viewBox').split(' ').map(Number)).map(v => [v[0], v[2]])"
    )
    assert all(b == boxes[0] for b in boxes), "all charts show the same stretch"
    assert page.run("!document.querySelector('.zoomed').hidden")
    page.key("0")
    assert view(page) == whole and page.run("document.querySelector('.zoomed').hidden")


def test_cursor_has_values(page):
    frame = "new Promise(f => requestAnimationFrame(() => requestAnimationFrame(f)))"
    x, y, width, height = box(page, "#c-memory .tp")
    page.mouse("mouseMoved", 2, 2)
    page.run(frame)
    before = page.run("document.querySelector('#c-memory .legend').textContent")
    page.mouse("mouseMoved", x + width * 0.7, y + height / 2)
    page.run(frame)
    assert page.run(
        "[...document.querySelectorAll('.cursor:not(.pinned)')].every(c => !c.hidden && c.style.left.startsWith('70') || c.style.left.startsWith('69.9'))"
    )
    assert page.run("document.querySelector('#c-memory .legend').classList.contains('live')")
    page.mouse("mouseMoved", 2, 2)
    page.run(frame)
    assert page.run("document.querySelector('#c-memory .legend').textContent") == before


def test_a_click_shows_the_heaviest_there(page):
    """By cores, or by memory on its charts: at most three, near the pointer; Escape and a click elsewhere close it."""
    for chart, by in (("#c-cpu", "by cores"), ("#c-memory", "by memory")):
        x, y, width, height = box(page, chart + " .tp")
        page.mouse("mouseMoved", x + width * 0.7, y + height / 2)
        page.mouse("mousePressed", x + width * 0.7, y + height / 2, buttons=1)
        page.mouse("mouseReleased", x + width * 0.7, y + height / 2)
        text, rows, left, top, right = page.run(
            "(e => { const b = e.getBoundingClientRect(); return [e.hidden ? '' : e.textContent, e.querySelectorAll('tr').length, b.left, b.top, b.right]; })(document.querySelector('.pop'))"
        )
        assert by in text and 1 <= rows <= 3 and abs(top - (y + height / 2)) < 40 and right <= 1440 and left > 0
    page.key("Escape")
    assert page.run("document.querySelector('.pop').hidden")


def test_clock_time(page):
    """The axis says when by the clock of the recording; `c` and the button change it, and back."""
    labels = "[...document.querySelectorAll('.time text')].map(e => e.textContent)"
    first = page.run(labels)
    page.key("c")
    hours = page.run(labels)
    assert len(hours) > 1 and all(re.fullmatch(r"\d\d:\d\d(:\d\d(\.\d+)?)?", text) for text in hours)
    start = page.run("document.querySelector('.meta dd').textContent")
    assert hours[0][:2] == start[11:13] or hours[0] >= start[11:19]
    assert page.run("document.querySelector('.track.axis .th').textContent").startswith("clock, UTC")
    page.run("document.querySelector('.clocks button').click()")
    assert [text.split()[0] for text in page.run(labels)] == [text.split()[0] for text in first]


def test_a_command_is_highlighted_everywhere(page):
    name = page.run("document.querySelector('#c-cpu .legend button').dataset.k")
    page.run("document.querySelector('#c-cpu .legend button').click()")
    for part in (".chart path", ".bars g", "#commands tr", "#processes tr"):
        on = page.run(f"[...document.querySelectorAll({part + '.on'!r})].map(e => e.dataset.k)")
        assert on and set(on) == {name}, part
    page.key("Escape")
    assert page.run("document.querySelectorAll('.on').length") == 0


def test_keys_walk_through_moments(page):
    title = "document.querySelector('#h-tree').firstChild.textContent"
    page.key("p")
    peak = page.run(title)
    page.key("ArrowLeft")
    page.key("ArrowLeft")
    assert page.run(title) != peak
    page.key("p")
    assert page.run(title) == peak
    assert page.run("document.querySelectorAll('#tree tbody tr').length") > 0
    page.key("?")
    assert page.run("document.querySelector('dialog').open && document.querySelectorAll('dialog kbd').length > 8")
    page.key("Escape")
    page.run("document.querySelector('dialog').close()")


def test_tables_sort_and_search(page):
    names = "[...document.querySelectorAll('#processes tbody tr')].map(r => r.cells[1].textContent).map(Number)"
    page.run("document.querySelectorAll('#processes thead th')[1].click()")
    down = page.run(names)
    assert down == sorted(down, reverse=True) and len(down) > 2
    page.run("document.querySelectorAll('#processes thead th')[1].click()")
    assert page.run(names) == down[::-1]
    assert page.run("document.querySelectorAll('#processes thead th')[1].getAttribute('aria-sort')") == "ascending"


def test_theme(page):
    back = "getComputedStyle(document.body).backgroundColor"
    first = page.run(back)
    page.key("t")
    assert page.run(back) != first
    page.key("t")
    assert page.run(back) == first


def test_names_for_screen_readers(page):
    """Each button, table, section and picture has a name, headers their scope, and a moment is announced."""
    count = "[...document.querySelectorAll('%s')].filter(e => %s).length"
    named = "e.textContent.trim() || e.getAttribute('aria-label') || e.getAttribute('aria-labelledby')"
    headers = "e.dataset.table && [...e.querySelectorAll('thead th')].some(h => h.scope !== 'col' || !h.textContent.trim())"
    for selector, is_bad in (("button, section, svg[role], [role=region], input", f"!({named})"), ("table", headers),
                             ("[aria-labelledby]", "!document.getElementById(e.getAttribute('aria-labelledby'))"),
                             (".tw", "!(e.tabIndex === 0 && e.getAttribute('aria-labelledby') || e.closest('details'))")):
        assert page.run(count % (selector, is_bad)) == 0, selector
    ids = page.run("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(set(ids)) == len(ids)
    page.key("p")
    status = page.run("(e => [e.getAttribute('role'), e.textContent])(document.querySelector('.tree-sum'))")
    assert status[0] == "status" and "processes" in status[1]
    page.key("Escape")


def test_keyboard_alone(page):
    """Tab reaches each control, in the order of the page; Enter and Space work them, and the focus can be seen."""
    page.run("scrollTo(0, 0); document.activeElement.blur()")
    seen = []
    for _ in range(400):
        page.key("Tab")
        if page.run("document.activeElement === document.body"):
            break
        seen.append(
            page.run(
                "document.activeElement.matches('#theme') ? 'theme' : document.activeElement.matches('.legend button') ? 'legend' : document.activeElement.matches('.bars [role=button]') ? 'bar' : document.activeElement.matches('th') ? 'column' : document.activeElement.matches('.tw') ? 'table' : document.activeElement.tagName.toLowerCase()"
            )
        )
        if len(seen) == 1:
            assert page.run(
                "document.activeElement.matches(':focus-visible') && getComputedStyle(document.activeElement).outlineStyle !== 'none'"
            )
    kinds = set(seen)
    assert {"theme", "button", "legend", "bar", "column", "table", "summary"} <= kinds, kinds
    assert seen.index("theme") < seen.index("legend") < seen.index("bar") < seen.index("column")
    for selector in ("#c-cpu .legend button", ".bars [role=button]"):
        page.run(f"document.querySelector({selector!r}).focus()")
        for key in ("Enter", " "):
            page.key(key)
            assert page.run("document.activeElement.getAttribute('aria-pressed')") == "true", (selector, key)
            page.key("Escape")
            assert page.run("document.querySelectorAll('.on').length") == 0


def test_reduced_motion(page):
    def moving():
        return page.run(
            "[...document.querySelectorAll('*')].filter(e => parseFloat(getComputedStyle(e).transitionDuration) > 0 || parseFloat(getComputedStyle(e).animationDuration) > 0 || getComputedStyle(e).scrollBehavior === 'smooth').length"
        )

    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "no-preference"}])
    assert moving() > 0
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    assert moving() == 0
    page.call("Emulation.setEmulatedMedia", features=[])


@pytest.mark.parametrize("width", [390, 1100, 1440, 3840])
def test_nothing_is_wider_than_the_page(page, width):
    page.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    try:
        assert page.run("document.documentElement.scrollWidth") <= width
        rows = page.run(
            "Object.values([...document.querySelectorAll('.card')].reduce((a, c) => { const b = c.getBoundingClientRect(); (a[Math.round(b.top)] ||= []).push([b.left, b.right]); return a; }, {}))"
        )
        ends = {(round(min(x for x, _ in row)), round(max(x for _, x in row))) for row in rows}
        assert len(ends) == 1, "each row of key figures is as wide as the page"
    finally:
        page.call("Emulation.setDeviceMetricsOverride", width=1440, height=900, deviceScaleFactor=1, mobile=False)
