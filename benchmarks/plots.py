"""A plot as SVG: lines over logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 640, 360, 70, 40, 150, 50
COLOURS = ("#1f5fa8", "#b5541c", "#3c7d3c", "#7a3c8c")


@dataclass(frozen=True)
class Line:
    """A series of points of positive numbers."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Plot:
    """What is drawn, and the name of its file."""

    name: str
    title: str
    across: str
    up: str
    lines: Sequence[Line]

    def svg(self) -> str:
        """The drawing."""
        xs = [x for line in self.lines for x, _ in line.points]
        ys = [y for line in self.lines for _, y in line.points]
        across = _Axis(min(xs), max(xs), LEFT, WIDTH - RIGHT)
        low, high = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))
        up = _Axis(10.0**low, 10.0**high, HEIGHT - BOTTOM, TOP)
        parts = [_text(LEFT, 20, self.title, size=14), _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, self.across)]
        parts.append(_text(LEFT, TOP - 6, self.up))
        for x in sorted(set(xs)):
            parts.append(_line(across.at(x), TOP, across.at(x), HEIGHT - BOTTOM))
            parts.append(_text(across.at(x), HEIGHT - BOTTOM + 16, f"{x:,.0f}", anchor="middle"))
        for power in range(low, high + 1):
            parts.append(_line(LEFT, up.at(10.0**power), WIDTH - RIGHT, up.at(10.0**power)))
            parts.append(_text(LEFT - 6, up.at(10.0**power) + 4, f"{10.0**power:,g}", anchor="end"))
        for number, line in enumerate(self.lines):
            colour = COLOURS[number % len(COLOURS)]
            places = [(across.at(x), up.at(y)) for x, y in line.points]
            joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            parts.append(f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>')
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
            parts.append(_text(WIDTH - RIGHT + 10, TOP + 12 + 18 * number, line.name, colour=colour))
        body = "\n".join(parts)
        frame = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">\n'
            f"{frame}\n{body}\n</svg>\n"
        )


@dataclass(frozen=True)
class _Axis:
    """From values to places, by their logarithms."""

    low: float
    high: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.begin + share * (self.end - self.begin)


def _text(x: float, y: float, text: str, *, size: int = 11, anchor: str = "start", colour: str = "#333") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}"'
    return f"<text {place}>{escape(text)}</text>"


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'
