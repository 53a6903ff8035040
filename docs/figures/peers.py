#!/usr/bin/env python3
"""Draws docs/figures/peers.svg from the table "Beside the libraries" of docs/measured.md.

    python3 docs/figures/peers.py            draws it
    python3 docs/figures/peers.py --check    fails if it would be another one

grader/tests/pytorch/peers.py makes the table.
"""
import pathlib
import sys

sys.dont_write_bytecode = True
from svg import svg, text  # noqa: E402

DOCS = pathlib.Path(__file__).resolve().parent.parent
FIGURE = DOCS / "figures/peers.svg"
COLOURS = {"One Pass": "#2f855a", "quack": "#c2410c", "Liger": "#0b69a3", "PyTorch": "#9fb3c8",
           "torch.compile": "#f3b48c"}
WIDTH, LEFT, COPY, ROW = 820, 250, 470, 17  # COPY: how far from the left a copy's speed is


def lines():
    """The cells of each row of the table, the header first."""
    page = (DOCS / "measured.md").read_text()
    part = page[page.index("## Beside the libraries"):].split("\n## ")[0]
    rows = [line for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows if "---" not in row]


def dot(x, y, provider):
    if provider == "One Pass":
        return f'<circle cx="{x:.1f}" cy="{y}" r="5.5" fill="{COLOURS[provider]}"/>'
    return f'<rect x="{x - 4:.1f}" y="{y - 4}" width="8" height="8" fill="{COLOURS[provider]}"/>'


def body_of(header, rows):
    """From the top: what stands for whom, and a line for each row of the table. And the height."""
    out, x = [], 30
    for provider in COLOURS:
        out += [dot(x, 52, provider), text(x + 12, 56, provider)]
        x += 34 + 8 * len(provider)
    y, function = 74, ""
    for cells in rows:
        if cells[0] != function:
            function, y = cells[0], y + 12
            out.append(text(30, y + 12, function, 13, weight="bold"))
            y += 20
        out += [text(LEFT - 16, y + 4, cells[1], 11, anchor="end"),
                f'<line x1="{LEFT}" y1="{y}" x2="{LEFT + COPY * 1.08:.1f}" y2="{y}" stroke="#d9e2ec"/>']
        told = [(provider, cells[header.index(provider)]) for provider in reversed(COLOURS)]
        out += [dot(LEFT + COPY * min(float(share), 108) / 100, y, provider)
                for provider, share in told if share]
        y += ROW
    for percent in (25, 50, 75, 100):
        x = LEFT + COPY * percent / 100
        colour = "#c2410c" if percent == 100 else "#d9e2ec"
        out.insert(0, f'<line x1="{x}" y1="74" x2="{x}" y2="{y}" stroke="{colour}" stroke-dasharray="4 3"/>')
        out.append(text(x, y + 16, "a copy" if percent == 100 else f"{percent} %", 11, "#627d98", "middle"))
    return out, y + 30


def figure():
    header, *rows = lines()
    body, height = body_of(header, rows)
    ours = "; ".join(f"{cells[0]} {cells[1]} {cells[header.index('One Pass')]}" for cells in rows)
    title = "The solutions beside the libraries, in per cent of a copy"
    return svg(WIDTH, height, title, f"Of a copy, One Pass: {ours}",
               [text(30, 30, title, 15, weight="bold"), *body])


def main():
    drawn = figure()
    if "--check" in sys.argv:
        if not FIGURE.exists() or FIGURE.read_text() != drawn:
            print("docs/figures/peers.svg is not drawn from the table as it is: docs/figures/peers.py")
            return 1
        return 0
    FIGURE.write_text(drawn)
    return 0


if __name__ == "__main__":
    sys.exit(main())
