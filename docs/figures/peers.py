#!/usr/bin/env python3
"""Makes the tables of "Beside the libraries" in docs/measured.md, and docs/figures/peers.svg, from
docs/data/peers.jsonl, which grader/tests/pytorch/peers.py writes.

    python3 docs/figures/peers.py            makes them
    python3 docs/figures/peers.py --check    fails if they would be others
"""
import json
import pathlib
import sys

sys.dont_write_bytecode = True
from svg import svg, text  # noqa: E402

DOCS = pathlib.Path(__file__).resolve().parent.parent
DATA, PAGE, FIGURE = DOCS / "data/peers.jsonl", DOCS / "measured.md", DOCS / "figures/peers.svg"
BEGIN, END = "<!-- made by docs/figures/peers.py -->\n", "<!-- end -->\n"
TITLES = {"rmsnorm_forward": "RMSNorm", "rmsnorm_residual": "residual RMSNorm",
          "rmsnorm_backward": "RMSNorm backward", "layernorm_forward": "LayerNorm",
          "layernorm_backward": "LayerNorm backward", "rope_half_split": "RoPE, split halves",
          "rope_interleaved": "RoPE, interleaved", "rope_qk_norm": "QK-norm + RoPE",
          "batchnorm_forward": "BatchNorm"}
COLOURS = {"One Pass": "#2f855a", "quack": "#c2410c", "Liger": "#0b69a3", "Liger CuTe": "#8b5cf6",
           "PyTorch": "#9fb3c8", "torch.compile": "#f3b48c"}
WIDTH, LEFT, COPY, ROW = 820, 250, 470, 17  # COPY: how far from the left a copy's speed is


def lines_of(data):
    """What was measured on, and of each table its lines, by function and in the order of the run."""
    about, tables = {}, {}
    for line in map(json.loads, data.read_text().splitlines()):
        if "about" in line:
            about = line["about"]
        elif line["ms"]:  # measured again: the last one counts
            key = line["function"], line["shape"], line["dtype"], line["off"]
            tables.setdefault(line["table"], {})[key] = line
    order = list(TITLES)
    return about, {name: sorted(lines.values(), key=lambda line: order.index(line["function"]))
                   for name, lines in tables.items()}


def shape_of(line):
    off = f", {line['off']} off" if line["off"] else ""
    return f"{line['shape'].replace('x', ' × ')} {line['dtype']}{off}"


def per_cent(line):
    """Of a copy, by the provider."""
    return {one: 100 * line["ms"]["copy"] / ms for one, ms in line["ms"].items() if one != "copy"}


def table(lines, unit, values, ratio):
    """A row per line: its values by the provider, and One Pass's beside the best of the others."""
    out = [f"| function | shape, type | copy, {unit[0]} | " + " | ".join(COLOURS) + f" | {unit[1]} |",
           "|---" * (len(COLOURS) + 4) + "|"]
    for line in lines:
        of = values(line)
        others = [of[one] for one in of if one in COLOURS and one != "One Pass"]
        beside = f"{ratio(of['One Pass'], others):.2f}" if others and "One Pass" in of else ""
        copy = (f"{line['bytes'] / line['ms']['copy'] * 1e-6:.0f}" if unit[0] == "GB/s"
                else f"{of['copy']:.1f}")
        digits = 0 if unit[0] == "GB/s" else 1
        cells = [f"{of[one]:.{digits}f}" if one in of else "" for one in COLOURS]
        out.append(" | ".join([f"| {TITLES[line['function']]}", shape_of(line), copy, *cells, beside]) + " |")
    return out


def steps(lines):
    """Of each function the range along widths, and the largest step from one to the next."""
    out = ["| function | least | most | largest step | from columns | to |", "|---|---|---|---|---|---|"]
    for function in dict.fromkeys(line["function"] for line in lines):
        along = sorted((int(line["shape"].split("x")[1]), per_cent(line)["One Pass"])
                       for line in lines if line["function"] == function and "One Pass" in line["ms"])
        (low, a), (high, b) = max(zip(along, along[1:]), key=lambda pair: abs(pair[1][1] - pair[0][1]))
        speeds = [speed for _, speed in along]
        out.append(f"| {TITLES[function]} | {min(speeds):.0f} | {max(speeds):.0f} | {abs(a - b):.0f} | "
                   f"{low} ({a:.0f}) | {high} ({b:.0f}) |")
    return out


def tables_of(about, tables):
    """What stands between BEGIN and END."""
    out = [f"One {about['device']} (driver {about['driver']}, CUDA {about['cuda']}), PyTorch {about['torch']}, "
           f"quack {about['quack']}, Liger-Kernel {about['liger']}, {about['date']}.", ""]
    of_copy = ("GB/s", "/ best"), per_cent, lambda our, others: our / max(others)
    in_us = (("µs", "/ best"), lambda line: {one: 1000 * ms for one, ms in line["ms"].items()},
             lambda our, others: our / min(others))
    out += table(tables["large"], *of_copy)
    if "off" in tables:
        out += ["", "### One tensor one element off", "",
                "Its first address is that of an element behind a multiple of 16 bytes. Per cent of a copy.", "",
                *table(tables["off"], *of_copy)]
    if "small" in tables:
        out += ["", "### Few rows", "",
                "The time of a call in µs, less is better: / best is One Pass by the fastest of the others.", "",
                *table(tables["small"], *in_us)]
    if "steps" in tables:
        out += ["", "### Along widths", "",
                "One Pass in per cent of a copy, bf16, 128 MB: by 64 columns from 512 to 16,384, and by 512 to "
                "65,536.", "", *steps(tables["steps"])]
    return "\n".join([*out, ""])


def dot(x, y, provider):
    if provider == "One Pass":
        return f'<circle cx="{x:.1f}" cy="{y}" r="5.5" fill="{COLOURS[provider]}"/>'
    return f'<rect x="{x - 4:.1f}" y="{y - 4}" width="8" height="8" fill="{COLOURS[provider]}"/>'


def body_of(lines):
    """From the top: what stands for whom, and a line for each row of the table. And the height."""
    out, x = [], 30
    for provider in COLOURS:
        out += [dot(x, 52, provider), text(x + 12, 56, provider)]
        x += 34 + 8 * len(provider)
    y, function = 74, ""
    for line in lines:
        if line["function"] != function:
            function, y = line["function"], y + 12
            out.append(text(30, y + 12, TITLES[function], 13, weight="bold"))
            y += 26
        out += [text(LEFT - 16, y + 4, shape_of(line), 11, anchor="end"),
                f'<line x1="{LEFT}" y1="{y}" x2="{LEFT + COPY * 1.08:.1f}" y2="{y}" stroke="#d9e2ec"/>']
        shares = per_cent(line)
        out += [dot(LEFT + COPY * min(shares[one], 108) / 100, y, one) for one in reversed(COLOURS) if one in shares]
        y += ROW
    for percent in (25, 50, 75, 100):
        x = LEFT + COPY * percent / 100
        colour = "#c2410c" if percent == 100 else "#d9e2ec"
        out.insert(0, f'<line x1="{x}" y1="74" x2="{x}" y2="{y}" stroke="{colour}" stroke-dasharray="4 3"/>')
        out.append(text(x, y + 16, "a copy" if percent == 100 else f"{percent} %", 11, "#627d98", "middle"))
    return out, y + 30


def figure(about, lines):
    body, height = body_of(lines)
    ours = "; ".join(f"{TITLES[line['function']]} {shape_of(line)} {per_cent(line)['One Pass']:.0f}"
                     for line in lines if "One Pass" in line["ms"])
    title = "The solutions beside the libraries, in per cent of a copy"
    return svg(WIDTH, height, title, f"Of a copy on one {about['device']}, {about['date']}, One Pass: {ours}",
               [text(30, 30, title, 15, weight="bold"), *body])


def main():
    about, tables = lines_of(DATA)
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    made = {PAGE: before + BEGIN + tables_of(about, tables) + END + rest.split(END)[1],
            FIGURE: figure(about, tables["large"])}
    stale = [path for path, what in made.items() if not path.exists() or path.read_text() != what]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.name} is not made from docs/data/peers.jsonl as it is: docs/figures/peers.py")
        return 1 if stale else 0
    for path in stale:
        path.write_text(made[path])
    return 0


if __name__ == "__main__":
    sys.exit(main())
