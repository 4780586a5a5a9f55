# SPDX-License-Identifier: Apache-2.0
"""pytest --baro: what each test uses, also of what it starts.

One recording for the whole session, also with xdist; a test costs two readings of getrusage(2) and /proc/self. pytest
imports this at each start, so it imports nothing here, and without --baro it does nothing.

    pytest --baro                       tables of the tests that used most CPU time and memory
    pytest --baro --baro-rows t.jsonl   a row for each test; --junitxml has the same as properties
    @pytest.mark.baro(rss="200MB", cpu="2s", processes=4)      fails the test that exceeds it, or where that
                                        can't be judged (--baro-unknown=pass: passes)
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("baro", "barograph: what each test uses")
    group.addoption("--baro", action="store_true", help="measure CPU, memory, I/O and processes of each test")
    group.addoption("--baro-tape", metavar="FILE", help="where the recording goes (default: among the kept runs)")
    group.addoption("--baro-rows", metavar="FILE", help="write a line of JSON for each test")
    group.addoption("--baro-most", metavar="N", type=int, default=5, help="tests in each table (default: 5)")
    group.addoption(
        "--baro-unknown",
        choices=("fail", "pass"),
        default="fail",
        help="what a limit means that can't be judged, as where nothing is recorded (default: fail)",
    )
    group.addoption("--baro-interval", metavar="TIME", default="50ms", help="between samples (default: 50ms)")


def pytest_configure(config: Any) -> None:
    config.addinivalue_line(
        "markers",
        "baro(rss=, cpu=, processes=): with --baro, fails a test that uses more than that, e.g. rss='200MB', cpu='2s'",
    )
    if config.getoption("--baro"):
        from ._tests import Plugin

        config.pluginmanager.register(Plugin(config), "barograph-session")
