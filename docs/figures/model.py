#!/usr/bin/env python3
"""Draws the figures of docs/05_model.md from docs/data/model.json, and makes the tables of it.

    python3 docs/figures/model.py            draws model_loss.svg and model_speed.svg, prints the tables
    python3 docs/figures/model.py --check    fails if a figure or a table of the page is another

grader/tests/pytorch/prove.py measures what is in model.json.
"""
import json
import pathlib
import sys

sys.dont_write_bytecode = True
from svg import svg, text  # noqa: E402

DOCS = pathlib.Path(__file__).resolve().parent.parent
DATA, PAGE = DOCS / "data/model.json", DOCS / "05_model.md"
WAYS = {"eager": "#f3b48c", "compile": "#9cc9f5", "liger": "#e7d3ff", "onepass": "#57ae5b",
        "onepass, compile": "#b9ebcf"}
TOLD = {"eager": "PyTorch", "compile": "torch.compile", "liger": "Liger-Kernel", "onepass": "One Pass",
        "onepass, compile": "One Pass, torch.compile",
        "onepass, weight in fp32": "One Pass, weight in fp32",
        "torch.nn.functional.rms_norm": "PyTorch's rms_norm()"}
WIDTH = 820


def told_card(data):
    return f"one {data['about']['device']}, PyTorch {data['about']['torch']}, {data['about']['date']}"


def loss(data):
    """Two curves on one another: the second is dashed, so that both are seen."""
    training = data["training"]
    curves = {"before": "#f3b48c", "after": "#2f855a"}
    top, left, height, width = 70, 60, 270, 730
    most = max(max(training[name]["loss"]) for name in curves)

    def point(step, value):
        return (f"{left + width * step / (training['steps'] - 1):.1f} "
                f"{top + height * (1 - value / most):.1f}")

    body = [text(24, 30, "Training loss before and after swap()", 15, weight="bold"),
            text(24, 50, told_card(data), 12, "#627d98")]
    for value in range(int(most) + 1):
        y = top + height * (1 - value / most)
        body += [f'<line x1="{left}" y1="{y:.1f}" x2="{left + width}" y2="{y:.1f}" stroke="#d9e2ec"/>',
                 text(left - 8, round(y + 4, 1), value, 11, "#627d98", "end")]
    for step in range(0, training["steps"] + 1, 50):
        x = left + width * min(step, training["steps"] - 1) / (training["steps"] - 1)
        body.append(text(round(x, 1), top + height + 18, step, 11, "#627d98", "middle"))
    body.append(text(left + width / 2, top + height + 36, "step", 11, "#627d98", "middle"))
    for (name, colour), stroke in zip(curves.items(), ('stroke-width="4"',
                                                       'stroke-width="1.5" stroke-dasharray="5 3"')):
        points = " L".join(point(*one) for one in enumerate(training[name]["loss"]))
        body.append(f'<path d="M{points}" fill="none" stroke="{colour}" {stroke}/>')
    for i, (name, colour) in enumerate(curves.items()):
        x = 560 + 110 * i
        body += [f'<rect x="{x}" y="84" width="14" height="5" fill="{colour}"/>',
                 text(x + 20, 91, name)]
    ends = ", ".join(f"{name} {training[name]['loss'][-1]:.3f}" for name in curves)
    return svg(WIDTH, 400, "Training loss before and after swap()",
               f"Both begin at {training['before']['loss'][0]:.2f} and end at: {ends}; they are at most "
               f"{100 * training['most_apart']:.2f} per cent apart.", body)


def speed(data):
    """Tokens a second, of a layer and of the model."""
    body = [text(24, 30, "Tokens a second, forward and backward", 15, weight="bold"),
            text(24, 50, f"{told_card(data)}, bf16", 12, "#627d98")]
    y, told = 76, []
    for what in ("layer", "model"):
        rows = {way: one for way, one in data["speed"][what].items() if way in WAYS and "ms" in one}
        most = max(one["tokens_per_s"] for one in rows.values())
        layers = data["speed"]["layers"]
        body.append(text(24, y, "one layer" if what == "layer" else
                         f"a model of {layers} layers, with embeddings and loss", 13, weight="bold"))
        for way, one in rows.items():
            y += 24
            length = 440 * one["tokens_per_s"] / most
            body += [text(188, y, TOLD[way], anchor="end"),
                     f'<rect x="196" y="{y - 13}" width="{length:.1f}" height="18" '
                     f'fill="{WAYS[way]}"/>',
                     text(round(204 + length, 1), y, f"{one['tokens_per_s']:,.0f}, "
                          f"{one['peak_gib']:.1f} GiB", 11)]
            told.append(f"{what}, {TOLD[way]}: {one['tokens_per_s']:.0f}")
        y += 40
    return svg(WIDTH, y - 10, "Tokens a second of a layer and a model", "; ".join(told), body)


def operator_table(data):
    """Milliseconds, forward and together with backward."""
    ways = [way for way in TOLD if any(way in row for row in data["speed"]["operators"])]
    lines = ["| operator | " + " | ".join(TOLD[way] for way in ways) + " |",
             "|---|" + "---|" * len(ways)]
    for row in data["speed"]["operators"]:
        cells = [f"{row[way]['forward_ms']:.3f}, {row[way]['both_ms']:.3f}"
                 if "both_ms" in row.get(way, {}) else "-" for way in ways]
        lines.append(f"| {row['operator']} | " + " | ".join(cells) + " |")
    return lines


def speed_table(data):
    lines = ["| | one layer, ms | tokens a second | peak GiB | the model, ms | tokens a second "
             "| peak GiB |", "|---|---|---|---|---|---|---|"]
    for way in data["speed"]["layer"]:
        cells = []
        for what in ("layer", "model"):
            one = data["speed"][what].get(way, {})
            cells += [f"{one['ms']:.1f}", f"{one['tokens_per_s']:,.0f}",
                      f"{one['peak_gib']:.1f}"] if "ms" in one else ["-"] * 3
        lines.append(f"| {TOLD[way]} | " + " | ".join(cells) + " |")
    return lines


def model_table(data):
    """How far from fp64."""
    lines = ["| model | logits before | after | worst gradient before | after |",
             "|---|---|---|---|---|"]
    for model in data["models"]:
        logits, *gradients = model["tensors"]
        worst = [max(row[when] for row in gradients) for when in ("before", "after")]
        figures = (logits["before"], logits["after"], *worst)
        lines.append(f"| {model['model']} | " + " | ".join(f"{one:.1e}" for one in figures) + " |")
    return lines


def main():
    if not DATA.exists():
        print(f"There is no {DATA.relative_to(DOCS.parent)} to draw.")
        return 0
    data, check, stale = json.loads(DATA.read_text()), "--check" in sys.argv, []
    for name, draw in (("model_loss.svg", loss), ("model_speed.svg", speed)):
        path, drawn = DOCS / "figures" / name, draw(data)
        if not path.exists() or path.read_text() != drawn:
            stale.append(name)
            if not check:
                path.write_text(drawn)
    page = PAGE.read_text()
    for table in (model_table(data), operator_table(data), speed_table(data)):
        if "\n".join(table) not in page:
            stale.append(f"a table of {PAGE.name}")
            print("\n".join(table) + "\n")
    if stale:
        print("to be drawn again:" if check else "drawn, or to be put in:", ", ".join(stale))
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main())
