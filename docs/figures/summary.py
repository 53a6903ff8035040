#!/usr/bin/env python3
"""Draws README.md's chart from docs/data/peers.jsonl: docs/figures/summary.svg.

    python3 docs/figures/summary.py            draws it, where the figures have changed
    python3 docs/figures/summary.py --check    fails if they have and it was not drawn again
"""
import sys

sys.dont_write_bytecode = True
from peers import DATA, DOCS, lines_of, shape_of  # noqa: E402
from svg import svg, text  # noqa: E402

# A shape of each exercise that is large on any card, in bf16 where it was measured.
SHOWN = {
    "1.4": ("rmsnorm_forward", "16384x4096", "RMSNorm"),
    "1.5": ("rmsnorm_residual", "16384x4096", "residual + RMSNorm"),
    "1.6": ("rmsnorm_backward", "16384x4096", "RMSNorm backward"),
    "2.5": ("layernorm_forward", "16384x4096", "LayerNorm"),
    "2.6": ("layernorm_backward", "16384x4096", "LayerNorm backward"),
    "3.4": ("rope_half_split", "32768x32x128x128", "RoPE"),
    "3.5": ("rope_qk_norm", "32768x32x128x128", "QK-norm + RoPE"),
    "4.3": ("batchnorm_forward", "32x256x3136", "BatchNorm"),
}
BARS = {"PyTorch": "#f3b48c", "best library": "#9cc9f5", "One Pass": "#57ae5b"}
WIDTH, LEFT, COPY, BAR, GROUP = 820, 212, 530, 13, 50  # COPY: the length of a bar at a copy's speed


def speeds(line):
    """GB/s by the bar's name, and the copy's; not of a bar for which nothing was measured."""
    of = {one: line["bytes"] / ms * 1e-6 for one, ms in line["ms"].items()}
    libraries = [speed for one, speed in of.items() if one not in ("One Pass", "PyTorch", "copy")]
    return {**of, **({"best library": max(libraries)} if libraries else {})}


def group(top, number, name, line):
    """The bars of an exercise."""
    figures = speeds(line)
    out = [text(24, top + 17, number, 13, weight="bold"),
           text(54, top + 17, name, 13), text(54, top + 33, shape_of(line), 10, "#627d98"),
           text(LEFT + COPY + 14, top + 22, f"{figures['copy']:.0f}", 10, "#c2410c")]
    for i, (bar, fill) in enumerate(BARS.items()):
        if bar not in figures:
            continue
        y, length = top + BAR * i, COPY * figures[bar] / figures["copy"]
        inside = length > COPY / 2
        out.append(f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 1}" fill="{fill}"/>')
        out.append(text(round(LEFT + length + (-5 if inside else 5), 1), y + 10,
                        f"{figures[bar]:.0f}", 10, anchor="end" if inside else "start"))
    return out


def figure():
    about, tables = lines_of(DATA)
    lines = {(line["function"], line["shape"]): line for line in tables["large"]}
    shown = [(number, name, lines[function, shape]) for number, (function, shape, name) in SHOWN.items()
             if (function, shape) in lines]
    height, card = 76 + GROUP * len(shown), f"one {about['device']}, {about['date']}"
    told = "; ".join(name + " " + ", ".join(f"{bar} {speed:.0f}" for bar, speed in speeds(line).items()
                                            if bar in (*BARS, "copy")) for _, name, line in shown)
    out = [text(24, 30, "Effective bandwidth beside a copy of the same bytes, GB/s", 15, weight="bold"),
           text(24, 50, card, 12, "#627d98")]
    x = LEFT + 190
    for name, fill in BARS.items():
        out += [f'<rect x="{x}" y="40" width="12" height="12" fill="{fill}"/>', text(x + 17, 50, name)]
        x += 96
    out += [f'<line x1="{LEFT + COPY}" y1="58" x2="{LEFT + COPY}" y2="{height - 14}" '
            'stroke="#c2410c" stroke-dasharray="4 3"/>',
            text(LEFT + COPY, 50, "a copy", 12, "#c2410c", "middle")]
    for i, one in enumerate(shown):
        out += group(70 + GROUP * i, *one)
    return svg(WIDTH, height, "Effective bandwidth of the fast solutions, of PyTorch and of the best library",
               f"GB/s on {card}: {told}", out)


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
