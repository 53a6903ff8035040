#!/usr/bin/env python3
"""Draws README.md's chart from the figures of docs/measured.md: docs/figures/summary.svg.

    python3 docs/figures/summary.py            draws it, where the figures have changed
    python3 docs/figures/summary.py --check    fails if they have and it was not drawn again
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
from svg import svg, text  # noqa: E402

DOCS = pathlib.Path(__file__).resolve().parent.parent
SECTION = "## The fast solutions"  # of measured.md
# A shape of each exercise that is large on any card, in bf16 where it was measured.
SHOWN = {
    "1.4": ("rmsnorm/forward_fast", "16384 × 4096 bf16", "RMSNorm"),
    "1.5": ("rmsnorm/residual", "16384 × 4096 bf16", "residual + RMSNorm"),
    "1.6": ("rmsnorm/backward_fast", "16384 × 4096 bf16", "RMSNorm backward"),
    "2.5": ("layernorm/forward_fast", "16384 × 4096 bf16", "LayerNorm"),
    "2.6": ("layernorm/backward_fast", "16384 × 4096 bf16", "LayerNorm backward"),
    "3.4": ("rope/fast", "32768 × 4096 bf16", "RoPE"),
    "3.5": ("rope/qk_norm", "32768 × 4096 bf16", "QK-norm + RoPE"),
    "4.3": ("batchnorm/forward_fast", "256 × 100352 fp16", "BatchNorm"),
}
BARS = (("naive", "#f3b48c"), ("PyTorch", "#9cc9f5"), ("solution", "#57ae5b"))
WIDTH, LEFT, COPY, BAR, GROUP = 820, 212, 530, 13, 50  # COPY: the length of a bar at a copy's speed


def measured():
    """The card and the day, and of each exercise and shape its GB/s by the column's name."""
    page = (DOCS / "measured.md").read_text()
    section = page[page.index(SECTION):]
    card = re.search(r"one (NVIDIA [^(;]+?) \(", section)[1]
    day = re.search(r"\d{4}-\d\d-\d\d", section)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in section.splitlines() if line.startswith("|")]
    figures = {(row[0], row[1]): dict(zip(rows[0][2:], row[2:])) for row in rows[2:]}
    return card, day, figures


def group(top, number, name, shape, figures):
    """The bars of an exercise."""
    out = [text(24, top + 17, number, 13, weight="bold"),
           text(54, top + 17, name, 13), text(54, top + 33, shape, 10, "#627d98"),
           text(LEFT + COPY + 8, top + 22, figures["copy"], 10, "#c2410c")]
    copy = float(figures["copy"])
    for i, (bar, fill) in enumerate(BARS):
        y, speed = top + BAR * i, float(figures[bar])
        length = COPY * speed / copy
        inside = length > COPY / 2
        out.append(f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 1}" fill="{fill}"/>')
        out.append(text(round(LEFT + length + (-5 if inside else 5), 1), y + 10,
                        f"{speed:.0f}", 10, anchor="end" if inside else "start"))
    return out


def figure():
    card, day, figures = measured()
    height = 92 + GROUP * len(SHOWN)
    told = "; ".join(f"{name} {', '.join(f'{b} {figures[(id, shape)][b]}' for b, _ in BARS)}, copy "
                     f"{figures[(id, shape)]['copy']}" for id, shape, name in SHOWN.values())
    out = [text(24, 30, "Effective bandwidth beside a copy of the same bytes, GB/s", 15, weight="bold"),
           text(24, 50, f"one {card}, {day}", 12, "#627d98")]
    x = LEFT + 200
    for name, fill in BARS:
        out += [f'<rect x="{x}" y="40" width="12" height="12" fill="{fill}"/>', text(x + 17, 50, name)]
        x += 85
    out += [f'<line x1="{LEFT + COPY}" y1="58" x2="{LEFT + COPY}" y2="{height - 14}" '
            'stroke="#c2410c" stroke-dasharray="4 3"/>',
            text(LEFT + COPY, 50, "a copy", 12, "#c2410c", "middle")]
    for i, (number, (exercise, shape, name)) in enumerate(SHOWN.items()):
        out += group(70 + GROUP * i, number, name, shape, figures[(exercise, shape)])
    return svg(WIDTH, height, "Effective bandwidth of the fast solutions, the naive versions and PyTorch",
               f"GB/s on one {card}, {day}: {told}", out)


def main():
    path, drawn = DOCS / "figures" / "summary.svg", figure()
    stale = not path.exists() or path.read_text() != drawn
    if stale and "--check" not in sys.argv:
        path.write_text(drawn)
    if stale:
        print("drawn:" if "--check" not in sys.argv else "to be drawn again:", path.name)
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
