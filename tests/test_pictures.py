"""The README's picture shows the numbers of the tables that it links to."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
SVG = "{http://www.w3.org/2000/svg}"
FULL = 370  # pixels of stock's bar


def cell(page: str, row: str, column: int) -> float:
    """The number that a cell of a table of the documentation begins with."""
    lines = (ROOT / "docs" / page).read_text().splitlines()
    (line,) = [line for line in lines if line.startswith(f"| {row} |")]
    return float(line.split("|")[column + 1].split()[0])


def test_the_readme_s_picture() -> None:
    picture = ElementTree.parse(ROOT / "docs" / "pictures" / "pages-read.svg").getroot()
    texts = ["".join(text.itertext()) for text in picture.iter(f"{SVG}text")]
    shown = [float(text) for text in texts if re.fullmatch(r"\d\.\d+", text)]
    beside = (ROOT / "docs" / "benchmarks.md").read_text().split("### Beside point reads")[1]
    # the table of the live runs comes first
    beside_pbm = re.findall(r"^\| `pbm` \| (\d\.\d+) \(\S+\) \|", beside, re.MULTILINE)[0]
    demo = (ROOT / "docs" / "demo.md").read_text()
    s3fifo = float(re.findall(r"^s3fifo +\S+ +(\S+)%", demo, re.MULTILINE)[0])
    assert shown == [
        cell("benchmarks.md", "whole, `pbm`", 3),
        cell("benchmarks.md", "meeting, `pbm`", 3),
        float(beside_pbm),
        round(1 + s3fifo / 100, 2),
    ]
    bars = [int(bar.get("width", "")) for bar in picture.iter(f"{SVG}rect")][2::2]
    assert bars == [round(FULL * value) for value in shown]
    title = picture.findtext(f"{SVG}title") or ""
    (alternative,) = re.findall(
        r"!\[(.*?)\]\(docs/pictures/pages-read.svg\)", (ROOT / "README.md").read_text()
    )
    for text in (title, alternative.split("= 1:")[1]):
        assert [float(number) for number in re.findall(r"\d\.\d+", text)] == shown
