# SPDX-License-Identifier: Apache-2.0
"""docs/ci.md: its workflow files do what they say, but for the steps that install."""

import os
import pathlib
import re
import shutil
import subprocess
import textwrap
import xml.etree.ElementTree

import pytest
from conftest import SOURCE

TEXT = (SOURCE / "docs/ci.md").read_text()
GITHUB, GITLAB, GITHUB_BUDGET, GITLAB_BUDGET = re.findall(r"```yaml\n(.*?)```", TEXT, re.S)
INSTALL = ("deps.sh", "apt-get", "git clone")


def steps_of_github():
    """The commands of each step, and whether it runs after a failure."""
    for step in re.split(r"\n      - ", GITHUB)[1:]:
        found = re.search(r"^        run: \|\n((?:(?: {10}.*)?\n)+)", step + "\n", re.M)
        if found:
            yield textwrap.dedent(found[1]), "if: always()" in step


def script_of_gitlab(section, workflow=GITLAB):
    (lines,) = re.findall(rf"^  {section}:\n((?:    - .*\n)+)", workflow, re.M)
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
    """Several tapes are one report."""
    (project / "tapes").mkdir()
    for name in ("build", "other"):
        run("run", "-q", "-o", project / "tapes" / f"{name}.baro", "--", "sleep", "0.3", status=0)
    (command,) = re.findall(r"`(baro report --github tapes)`", TEXT)
    assert ran(command).returncode == 0
    assert (work / "step.md").read_text().startswith("# ✓ 2 tapes")


@pytest.fixture
def budget(project):
    """The budget of the document. The project's build has no compiler."""
    (text,) = re.findall(r"```\n(# all together.*?)```", TEXT, re.S)
    (project / "ci.budget").write_text(text)
    return project / "ci.budget"


def test_the_budget_in_github(project, budget, work):
    steps = list(steps_of_github())
    assert ran(steps[1][0]).returncode == 0
    (command,) = re.findall(r"        run: (baro .*)\n", GITHUB_BUDGET)
    done = ran(command)
    assert done.returncode == 0 and "5 limits, 1 run: 4 kept, 1 cannot be told" in done.stdout
    assert re.findall(r"^::.*", done.stdout, re.M)[0].startswith(
        "::warning file=ci.budget,line=3,title=cannot tell::command:cc1 rss_peak<400MB: -, no command has this name;")
    budget.write_text(budget.read_text().replace("2GB", "2kB"))
    done = ran(command)
    assert done.returncode == 1 and "::error file=ci.budget,line=2,title=broken::rss_peak<2kB: " in done.stdout
    assert "| ✗ broken | `rss_peak<2kB` |" in (work / "step.md").read_text()
    assert xml.etree.ElementTree.parse(project / "tapes/budget.xml").find(".//failure") is not None


def test_the_budget_in_gitlab(project, budget):
    done = ran(script_of_gitlab("script", GITLAB_BUDGET))
    assert done.returncode == 0 and "4 kept" in done.stderr and done.stdout == ""
    assert ran(script_of_gitlab("after_script", GITLAB_BUDGET)).returncode == 0
    assert {p.name for p in (project / "tapes").iterdir()} == {"build.baro", "budget.xml", "metrics.txt", "quality.json"}
    budget.write_text(budget.read_text() + "unknown fail\n")
    (project / "tapes/build.baro").unlink()
    assert ran(script_of_gitlab("script", GITLAB_BUDGET)).returncode == 3
    budget.write_text("phase:test cpu<1ns\n")
    (project / "tapes/build.baro").unlink()
    assert ran(script_of_gitlab("script", GITLAB_BUDGET)).returncode == 1
    yaml = pytest.importorskip("yaml")
    reports = yaml.safe_load(GITLAB_BUDGET)["build"]["artifacts"]["reports"]
    assert all((project / path).exists() for path in reports.values())


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_the_hook(project, budget, work):
    """git pushes where the budget is kept, and not where it is broken or the tests fail."""
    (hook,) = re.findall(r"```sh\n(.*?)```", TEXT, re.S)
    git = ["git", "-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "init.defaultBranch=main"]
    for argv in (["init", "-q", "--bare", work / "far.git"], ["init", "-q"], ["add", "Makefile"],
                 ["commit", "-q", "-m", "first"], ["remote", "add", "far", work / "far.git"]):
        subprocess.run([*git, *argv], check=True)
    (project / ".git/hooks/pre-push").write_text(hook)
    (project / ".git/hooks/pre-push").chmod(0o755)
    (project / "built").write_text("all")
    kept = budget.read_text()
    budget.write_text("rss_peak<1kB\n")
    assert subprocess.run([*git, "push", "-q", "far", "HEAD"], check=False).returncode == 1
    budget.write_text(kept)
    (project / "built").write_text("")
    assert subprocess.run([*git, "push", "-q", "far", "HEAD"], check=False).returncode == 1
    (project / "built").write_text("all")
    assert subprocess.run([*git, "push", "-q", "far", "HEAD"], check=False).returncode == 0
    assert list((work / "far.git/refs/heads").iterdir())


def test_the_base(project, budget, run):
    """What `base` stands for is written from several tapes."""
    budget.write_text("processes<=base\n")
    (project / "tapes").mkdir()
    for i in range(3):
        run("run", "-q", "-o", project / "tapes" / f"{i}.baro", "--", "sleep", "0", status=0)
    (command,) = re.findall(r"^    (baro check .*--update.*)$", TEXT, re.M)
    assert ran(command).returncode == 0
    run("run", "-q", "-o", project / "again.baro", "--", "sleep", "0", status=0)
    assert ran("baro check --budget ci.budget again.baro").returncode == 0
    run("run", "-q", "-o", project / "more.baro", "--", "sh", "-c", "sleep 0; sleep 0", status=0)
    assert ran("baro check --budget ci.budget more.baro").returncode == 1
