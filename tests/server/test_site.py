"""The documentation as a site: it can be built, all links lead somewhere, nothing is left out."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest

from server.conftest import BIN, ROOT, Make
from tidepool.policies import policies


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    destination = tmp_path_factory.mktemp("site") / "html"
    command: list[str | Path] = [
        sys.executable,
        ROOT / "docs" / "site" / "build.py",
        destination,
        "--bin",
        BIN,
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return destination


def headings(site: Path, page: str) -> set[str]:
    text = (site / "docs" / "reference" / f"{page}.html").read_text()
    return {html.unescape(name) for name in re.findall(r"<h2>([^<]+)<", text)}


def test_the_reference_has_all_settings_views_and_functions(site: Path, make_once: Make) -> None:
    server = make_once()
    settings = server.query("SELECT name FROM pg_settings WHERE name LIKE 'bufferpool.%'")
    assert headings(site, "settings") == set(settings.splitlines())
    members = (
        "SELECT {} FROM pg_depend JOIN {} AS o ON o.oid = objid AND classid = '{}'::regclass"
        " WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_bufferpool')"
        " AND deptype = 'e' {}"
    )
    views = server.query(members.format("relname", "pg_class", "pg_class", "AND relkind = 'v'"))
    assert headings(site, "views") == set(views.splitlines())
    functions = server.query(members.format("proname", "pg_proc", "pg_proc", ""))
    assert "pg_bufferpool_check" in headings(site, "functions") < set(functions.splitlines())


def test_the_reference_has_all_policies_and_commands(site: Path) -> None:
    names = {heading.split(" ")[0] for heading in headings(site, "policies")}
    assert names == {policy.name for policy in policies()}
    assert {"tidepool simulate", "tidepool trace info"} <= headings(site, "commands")


def test_all_guides_are_in_a_chapter(site: Path) -> None:
    text = (site / "index.html").read_text()
    chapters, _, rest = text.partition("Rooms of the source")
    assert rest
    for page in [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*.ipynb")]:
        assert f"docs/{page.stem}.html" in chapters, (
            f"{page.name} is in no chapter of docs/site/build.py"
        )


def test_the_notebook_has_its_outputs(site: Path) -> None:
    text = (site / "docs" / "first-look.html").read_text()
    assert text.count('class="output') >= 6
    assert len(re.findall(r"<img [^>]*_images/", text)) == 3


def test_a_link_that_leads_nowhere_is_an_error(site: Path, tmp_path: Path) -> None:
    """The build is as strict as it says."""
    pages = site.with_name("html-pages")
    page = pages / "docs" / "patents.md"
    page.write_text(page.read_text() + "\n[nowhere](nowhere.md)\n")
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "-b",
        "html",
        "-D",
        "nb_execution_mode=off",
        pages,
        tmp_path,
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode != 0 and "nowhere.md" in run.stderr
