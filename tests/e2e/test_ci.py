# SPDX-License-Identifier: Apache-2.0
"""docs/ci.md: its workflow files do what they say, but for the steps that install."""

import os
import pathlib
import re
import subprocess
import textwrap

import pytest
from conftest import SOURCE

TEXT = (SOURCE / "docs/ci.md").read_text()
GITHUB, GITLAB = re.findall(r"```yaml\n(.*?)```", TEXT, re.S)
INSTALL = ("deps.sh", "apt-get", "git clone")


def steps_of_github():
    """The commands of each step, and whether it runs after a failure."""
    for step in re.split(r"\n      - ", GITHUB)[1:]:
        found = re.search(r"^        run: \|\n((?:(?: {10}.*)?\n)+)", step + "\n", re.M)
        if found:
            yield textwrap.dedent(found[1]), "if: always()" in step


def script_of_gitlab(section):
    (lines,) = re.findall(rf"^  {section}:\n((?:    - .*\n)+)", GITLAB, re.M)
    return "".join(line[6:] + "\n" for line in lines.splitlines())


@pytest.fixture
def project(baro, work, monkeypatch):
    """A project with a Makefile, and a `baro` in PATH."""
    (work / "project").mkdir()
    (work / "project" / "Makefile").write_text("all:\n\t@cat Makefile >built\ntest: built\n\t@grep -q all built\n")
    monkeypatch.setenv("PATH", f"{pathlib.Path(baro).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(work / "step.md"))
    monkeypatch.chdir(work / "project")
    return work / "project"


def ran(script):
    """As the runners do: each line must succeed."""
    assert not any(word in script for word in INSTALL), script
    return subprocess.run(["bash", "-e", "-c", script], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("breaks", [False, True])
def test_the_workflow_of_github(project, work, breaks):
    if breaks:
        (project / "Makefile").write_text("all:\n\t@true\ntest:\n\t@exit 3\n")
    install, build, report = steps_of_github()
    assert "make install" in install[0] and not build[1] and report[1]
    done = ran(build[0])
    assert done.returncode == (2 if breaks else 0), done
    if not breaks:
        assert done.stderr == ""
    assert ran(report[0]).returncode == 0
    page, summary = (project / "tapes/build.html").read_text(), (work / "step.md").read_text()
    result = "## ✗ `build and test` · exit 2" if breaks else "## ✓ `build and test` · exit 0"
    assert "build and test" in page and summary.startswith(result)
    assert all(f"| `{phase}` |" in summary for phase in ("build", "test"))
    assert (project / "tapes/build.baro").exists()


def test_the_workflow_of_gitlab(project):
    assert "make install" in script_of_gitlab("before_script")
    done = ran(script_of_gitlab("script"))
    assert done.returncode == 0 and "build and test" in done.stderr
    assert ran(script_of_gitlab("after_script")).returncode == 0
    assert {p.name for p in (project / "tapes").iterdir()} == {"build.baro", "build.html", "build.md"}


def test_the_files_are_yaml():
    yaml = pytest.importorskip("yaml")
    github, gitlab = yaml.safe_load(GITHUB), yaml.safe_load(GITLAB)
    assert [step.get("name", step.get("uses")) for step in github["jobs"]["build"]["steps"]] == [
        "actions/checkout@v4", "actions/cache@v4", "Install barograph", "Build and test", "Report", "actions/upload-artifact@v4"]
    assert gitlab["build"]["artifacts"]["paths"] == ["tapes/"]


def test_what_else_it_says(project, run, work):
    """Several tapes are one report; the limit fails where it is passed."""
    (project / "tapes").mkdir()
    for name in ("build", "other"):
        run("run", "-q", "-o", project / "tapes" / f"{name}.baro", "--", "sleep", "0.3", status=0)
    (command,) = re.findall(r"`(baro report --github tapes)`", TEXT)
    assert ran(command).returncode == 0
    assert (work / "step.md").read_text().startswith("# ✓ 2 tapes")
    limit = textwrap.dedent(re.search(r"^    baro summary --json(?:.*\n)(?:    .*\n)+", TEXT, re.M)[0])
    assert ran(limit).returncode == 0
    done = ran(limit.replace("2e9", "1e3"))
    assert done.returncode == 1 and "GB of memory, 2 are allowed" in done.stderr
