#!/usr/bin/env python3
"""Draws the ladders' figures from the tables of the pages, docs/figures/ladder_<folder>.svg.

    python3 docs/ladder/draw.py            draws those whose table has changed
    python3 docs/ladder/draw.py --check    fails if one has changed and was not drawn again
"""
import pathlib
import re
import sys

DOCS = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(DOCS / "figures"))
from svg import svg, text  # noqa: E402

FOLDERS = {"1.4": "rmsnorm_forward", "1.5": "rmsnorm_residual", "1.6": "rmsnorm_backward",
           "2.5": "layernorm_forward", "2.6": "layernorm_backward", "3.4": "rope",
           "3.5": "rope_qk_norm"}
WIDTH, LEFT, COPY, ROW = 760, 170, 400, 26  # COPY: the length of a bar at a copy's speed


def ladders():
    """Of each page's ladder: the exercise, the header's cells, and those of each version."""
    for page in sorted(DOCS.glob("0*.md")):
        exercise, table = None, []
        for line in page.read_text().splitlines() + [""]:
            heading = re.match(r"## (\d\.\d) ", line)
            exercise = heading[1] if heading else exercise
            if line.startswith("| version | what it changes |") or (table and line.startswith("|")):
                table.append([cell.strip() for cell in line.strip("|").split("|")])
            elif table:
                yield exercise, table[0], table[2:]  # table[1] is |---|---|
                table = []


def panel(top, header, versions, column):
    """The bars of one shape, whose GB/s stand in that column and per cent in the next one."""
    shape = header[column].removesuffix(", GB/s")
    bottom = top + 14 + ROW * len(versions)
    out = [text(LEFT, top, shape, 13, weight="bold"),
           f'<line x1="{LEFT + COPY}" y1="{top - 10}" x2="{LEFT + COPY}" y2="{bottom}" '
           'stroke="#c2410c" stroke-dasharray="4 3"/>',
           text(LEFT + COPY + 6, top, "a copy", 11, "#c2410c")]
    for i, cells in enumerate(versions):
        y = top + 12 + ROW * i
        out.append(text(LEFT - 10, y + 14, cells[0], anchor="end"))
        speed, share = (cells[column:] + ["", ""])[:2]
        percent = re.match(r"[\d.]+", share)
        length = COPY * min(float(percent[0]), 108) / 100 if percent else 0
        fill = "#57ae5b" if i + 1 == len(versions) else "#9cc9f5"
        number, _, where = speed.partition(",")  # "3050, on an H100"
        told = f"{number} GB/s{where}, {share}" if percent else speed
        out.append(f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="18" fill="{fill}"/>')
        # Where a bar is long, its figures stand in it: behind it is the line of the copy.
        inside = length > COPY / 2
        out.append(text(round(LEFT + length + (-8 if inside else 8), 1), y + 13, told, 11,
                        anchor="end" if inside else "start"))
    return bottom + 22, out


def figure(exercise, header, versions):
    top, out = 62, []
    for column in range(2, len(header), 2):
        top, bars = panel(top, header, versions, column)
        out += bars
    height = top - 12
    title = f"The ladder of {exercise}"
    last = "; ".join(f"{cells[0]} {', '.join(cells[2:])}" for cells in versions)
    told = text(30, 30, f"{title}: effective bandwidth, in per cent of a copy", 15, weight="bold")
    return svg(WIDTH, height, title, f"GB/s and per cent of a copy: {last}", [told, *out])


def main():
    stale = []
    for exercise, header, versions in ladders():
        path = DOCS / "figures" / f"ladder_{FOLDERS[exercise]}.svg"
        drawn = figure(exercise, header, versions)
        if not path.exists() or path.read_text() != drawn:
            stale.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(drawn)
    if stale:
        print("drawn:" if "--check" not in sys.argv else "to be drawn again:", *stale)
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
