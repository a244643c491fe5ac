"""What the Explorer's page is made of: its files, where they come from, their colours, and what a browser may load."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from shardweave.api.explorer.files import FOLDER, POLICY, page_files

ROOT = Path(__file__).parents[2]
LIBRARY = FOLDER / "lit-html"
STYLE = (FOLDER / "explorer.css").read_text()
OWN = sorted(FOLDER.glob("*.js"))

PAIRS = (
    ("text", "ground", 4.5),
    ("text", "raised", 4.5),
    ("text", "warned", 4.5),
    ("quiet", "ground", 4.5),
    ("quiet", "raised", 4.5),
    ("quiet", "warned", 4.5),
    ("accent", "ground", 4.5),
    ("accent", "raised", 4.5),
    ("on-accent", "accent", 4.5),
    ("bad", "ground", 4.5),
    ("bad", "warned", 4.5),
    ("on-bad", "bad", 4.5),
    ("line", "ground", 3.0),
    ("line", "raised", 3.0),
    ("bar", "ground", 3.0),
    ("bar", "raised", 3.0),
)
"""What stands on what, and the least contrast: 4.5 for text, 3 for borders of controls and drawings (WCAG 2.2, AA)."""


def test_the_library_is_what_was_taken_from_its_package() -> None:
    written = json.loads((ROOT / "requirements" / "explorer" / "files.json").read_text())
    found = {
        path.relative_to(LIBRARY).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in LIBRARY.rglob("*")
        if path.is_file()
    }
    assert found == written


def test_each_file_is_served_as_what_it_is_and_may_load_nothing_from_elsewhere() -> None:
    files = page_files()
    assert {"index.html", "main.js", "explorer.css", "icon.svg", "lit-html/lit-html.js"} <= files.keys()
    for name, answer in files.items():
        headers = answer.all_headers
        assert headers["content-security-policy"] == POLICY, name
        assert headers["x-content-type-options"] == "nosniff", name
        assert headers["content-type"].partition(";")[0] in (
            "text/html",
            "text/css",
            "text/javascript",
            "image/svg+xml",
        )
    for part in POLICY.split("; "):
        assert not {"*", "data:", "https:", "'unsafe-inline'", "'unsafe-eval'"} & set(part.split()), part
    assert POLICY.startswith("default-src 'none'; ")


def test_every_file_that_the_page_names_is_there() -> None:
    files = page_files()
    html = files["index.html"].body.decode()
    assert not re.search(r"<style|<script(?![^>]* src=)| on\w+=| style=", html)
    for name in re.findall(r'(?:href|src)="explorer/([^"]+)"', html):
        assert name in files, name
    for path in OWN:
        for name in re.findall(r'from "\./([^"]+)"', path.read_text()):
            assert name in files, f"{path.name}: {name}"


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_no_script_makes_markup_of_text_or_knows_another_host(path: Path) -> None:
    text = path.read_text()
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|unsafe[HSM]|eval\(|new Function", text
    )
    assert not re.search(r"https?://|\bstyle=", text)
    assert len(text.splitlines()) <= 400


def colors() -> dict[str, tuple[str, str]]:
    """Each named colour, in light and in dark."""
    found = re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);", STYLE)
    return {name: (light, dark) for name, light, dark in found}


def luminance(color: str) -> float:
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_contrast_of_a_pair_is_computed_as_wcag_has_it() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.478, abs=0.001)


@pytest.mark.parametrize(("front", "back", "least"), PAIRS)
def test_the_contrast_of_each_pair_is_enough_in_light_and_in_dark(front: str, back: str, least: float) -> None:
    named = colors()
    for one, other in zip(named[front], named[back], strict=True):
        assert contrast(one, other) >= least, (one, other)


def test_no_rule_has_a_colour_without_a_name() -> None:
    named = colors()
    rules = STYLE.partition("}")[2]
    assert not re.search(r"#[0-9a-f]{3,8}\b|rgb|hsl|\bopacity", rules)
    assert set(re.findall(r"var\(--([\w-]+)\)", rules)) <= named.keys()
    fronts = set(re.findall(r"(?<![-\w])color: var\(--([\w-]+)\)", rules))
    backs = set(re.findall(r"background: var\(--([\w-]+)\)", rules))
    assert fronts <= {front for front, _, _ in PAIRS}
    assert backs <= {back for _, back, _ in PAIRS}
