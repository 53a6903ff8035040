#!/usr/bin/env python3
"""Gives the figures of this folder their colours for dark pages.

    python3 docs/figures/dark.py            writes each figure's style, after a change of its colours
    python3 docs/figures/dark.py --check    fails if a figure lacks a colour's dark one

The figures are drawn in light colours, as attributes. A style, which is stronger than an attribute, replaces
each of them where the reader's pages are dark.
"""
import pathlib
import re
import sys

FIGURES = pathlib.Path(__file__).resolve().parent
DARK = {
    # the ground, text and lines
    "#ffffff": "#14181d", "#f5f7fa": "#1d252d", "#f0f4f8": "#1d252d", "#d9e2ec": "#2b3a4a",
    "#cbd2d9": "#3e4c59", "#9fb3c8": "#5f7690", "#829ab1": "#7b93ab", "#627d98": "#9fb3c8",
    "#486581": "#9fb3c8", "#1f2933": "#e4e7eb",
    # text and arrows that mean something: read, written, a result
    "#0b69a3": "#4cb5f5", "#c2410c": "#fb923c", "#2f855a": "#68d391",
    # boxes and bars: blue, green, yellow, orange, violet
    "#e3f0ff": "#17324d", "#cfe4f7": "#1c3d5c", "#cfe3fb": "#1c3d5c", "#bcdcff": "#1f4a73",
    "#9cc9f5": "#2a5d8f", "#9cc9ee": "#2a5d8f",
    "#e3f6e8": "#153d29", "#d6f5e3": "#153d29", "#c9efd6": "#1c5237", "#b9ebcf": "#1c5237",
    "#57ae5b": "#2f7a38",
    "#fdf0d5": "#433516", "#fde2d9": "#472a17", "#fde8d7": "#472a17", "#fde8d8": "#472a17",
    "#fbd5c0": "#5c2f17", "#ffd8b5": "#5c3a17", "#f3b48c": "#8a4a22",
    "#f3e8ff": "#32264a", "#e7d3ff": "#42305c", "#8b5cf6": "#b794f4",
}


def with_dark(svg):
    """The figure with the style that its colours need, in the place of the one that it has."""
    svg = re.sub(r"<style>.*?</style>\n", "", svg, flags=re.S)
    rules = []
    for what, colour in sorted(set(re.findall(r'(fill|stroke)="(#[0-9a-f]+)"', svg))):
        if colour not in DARK:
            sys.exit(f"{colour} has no dark colour: add it to docs/figures/dark.py")
        rules.append(f'  [{what}="{colour}"] {{ {what}: {DARK[colour]} }}\n')
    style = "<style>@media (prefers-color-scheme: dark) {\n" + "".join(rules) + "}</style>\n"
    head = re.match(r"(.*?(?:</title>\n|</desc>\n)+)", svg, flags=re.S)
    return head[1] + style + svg[head.end():]


def main():
    stale = []
    for path in sorted(FIGURES.glob("*.svg")):
        drawn = path.read_text()
        if 'class="' in drawn:  # drawn by `onepass measure --plot`, which has a style of its own
            continue
        if with_dark(drawn) != drawn:
            stale.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(with_dark(drawn))
    if stale:
        print("styled:" if "--check" not in sys.argv else "to be styled again:", *stale)
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
