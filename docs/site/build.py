#!/usr/bin/env python3
"""Build the documentation as a site: docs/site/build.py DESTINATION [--bin DIRECTORY].

The pages are those of the repository.  The reference is made from the code: of
settings, views and functions as a server has them that is started for this, of
policies and commands as the installed package has them.  A link that leads
nowhere is an error.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

import reference
from tidepool.errors import TidepoolError
from tidepool.server import server_directory

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent

# chapters of the site: title, pages in order
CHAPTERS = {
    "Use it": [
        "README",
        "docs/first-hour",
        "docs/advice",
        "docs/demo",
        "docs/choosing",
        "docs/operating",
        "docs/monitoring",
        "docs/when-not",
        "docs/scale",
        "docs/patents",
    ],
    "The server": [
        "docs/server",
        "docs/pools",
        "docs/prediction",
        "docs/ssd-tier",
        "docs/warm-starts",
    ],
    "The simulator": [
        "docs/first-look",
        "docs/simulator",
        "docs/trace-format",
        "docs/generators",
        "docs/writing-a-policy",
        "docs/second-opinion",
    ],
    "Reference": [f"docs/reference/{name}" for name in reference.PAGES],
    "Inside": ["docs/benchmarks", "ARCHITECTURE", "CONTRIBUTING", "core/README", "postgres/README"],
}


def sources() -> list[Path]:
    """All pages and the files of the repository that they link to, without this folder."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\0")
    known = {Path(name) for name in listed if name and (ROOT / name).exists()}
    pages = {path for path in known if path.suffix == ".md"}
    linked = set()
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)[^):]*\)", (ROOT / page).read_text()):
            path = Path(ROOT / page).parent.joinpath(target).resolve()
            if path.is_relative_to(ROOT) and path.relative_to(ROOT) in known:
                linked.add(path.relative_to(ROOT))
    return sorted(pages | linked)


def assemble(tree: Path, bin_directory: Path) -> None:
    """Lay the pages out as Sphinx wants them."""
    shutil.rmtree(tree, ignore_errors=True)
    for path in sources():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, tree / path)
    shutil.copyfile(HERE / "conf.py", tree / "conf.py")
    reference.write(tree / "docs" / "reference", bin_directory)
    in_chapters = {page for pages in CHAPTERS.values() for page in pages}
    others = sorted(
        str(path.relative_to(tree).with_suffix(""))
        for path in tree.rglob("*.md")
        if str(path.relative_to(tree).with_suffix("")) not in in_chapters
    )
    lines = ["# Tidepool", "", "PostgreSQL 18 with a choice of buffer replacement.", ""]
    for title, pages in {**CHAPTERS, "Rooms of the source": others}.items():
        lines += ["```{toctree}", f":caption: {title}", ":maxdepth: 1", "", *pages, "```", ""]
    (tree / "index.md").write_text("\n".join(lines))


def main() -> None:
    """Build the site."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("destination", type=Path)
    parser.add_argument("--bin", type=Path, help="where the server's programs are")
    arguments = parser.parse_args()
    tree = arguments.destination.with_name(arguments.destination.name + "-pages")
    try:
        assemble(tree, arguments.bin or server_directory())
    except TidepoolError as error:
        sys.exit(f"{error}\n{error.hint or ''}".strip())
    # -W: warnings are errors, of links that lead nowhere among them
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    run = subprocess.run([*command, str(tree), str(arguments.destination)], check=False)
    if run.returncode != 0:
        sys.exit("the site has errors")
    print(f"site: {arguments.destination / 'index.html'}")


if __name__ == "__main__":
    main()
