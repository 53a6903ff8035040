"""The workbook's kernels in a real model (docs/05_model.md): is all of it right, and how fast is it?

    build/onepass library solutions
    ONEPASS_LIBRARY=build/library/solutions/libonepass.so python3 prove.py --out model.json

Parts, for --only: operators, models, training, speed. Where there is no GPU, or --device cpu says so,
the first two run by PyTorch's own operators: registration, gradients and swap() are tried there.
Exits with 1 if anything is wrong, and with 77 where there is no PyTorch.
"""

import argparse
import datetime
import json
import pathlib
import sys
import time

try:
    import torch
except ImportError:
    print("There is no PyTorch here: nothing of grader/pytorch is tried.")
    sys.exit(77)


def about(device):
    import transformers
    told = {"torch": torch.__version__, "transformers": transformers.__version__,
            "date": datetime.date.today().isoformat(), "device": "CPU"}
    if device == "cuda":
        told |= {"device": torch.cuda.get_device_name(), "cuda": torch.version.cuda}
    try:
        import liger_kernel  # noqa: F401
        import importlib.metadata
        told["liger"] = importlib.metadata.version("liger-kernel")
    except Exception:
        told["liger"] = None
    return told


def show_speed(found):
    for row in found["operators"]:
        print(f"\n{row['operator']}, {row['tokens']} tokens: forward, and forward and backward, ms")
        for way, one in row.items():
            if isinstance(one, dict):
                print(f"  {way:32}", one.get("failed") or
                      f"{one['forward_ms']:8.3f} {one['both_ms']:8.3f}")
    for what in ("layer", "model"):
        print(f"\n{what}: ms, tokens a second, peak GiB")
        for way, one in found[what].items():
            print(f"  {way:32}", one.get("failed") or
                  f"{one['ms']:8.2f} {one['tokens_per_s']:10.0f} {one['peak_gib']:7.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="operators,models,training,speed")
    parser.add_argument("--device", choices=("cpu", "cuda"),
                        default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=pathlib.Path, help="where the JSON goes; a part that does not "
                        "run keeps what is there")
    options = parser.parse_args()
    parts = options.only.split(",")
    if unknown := set(parts) - {"operators", "models", "training", "speed"}:
        parser.error(f"there is no part {', '.join(sorted(unknown))}")

    found = {}
    if options.out and options.out.exists():
        found = json.loads(options.out.read_text(encoding="utf-8"))
    wrong = []

    def run(part, work):
        if part not in parts:
            return
        begin = time.monotonic()
        sentences = work()
        wrong.extend(sentences)
        print(f"{part}: {len(sentences)} wrong, {time.monotonic() - begin:.0f} s", flush=True)
        for sentence in sentences[:20]:
            print(f"  {sentence}", flush=True)
        if options.out:
            options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")

    def operators_part():
        import operators
        sentences = operators.failures(options.device)
        found["operators"] = {"wrong": sentences}
        return sentences

    def models_part():
        import models
        found["models"], sentences = models.compare_all(options.device)
        for model in found["models"]:
            worst = max(model["tensors"], key=lambda row: row["after"])
            print(f"  {model['model']}: logits {model['tensors'][0]['before']:.1e} from fp64 before, "
                  f"{model['tensors'][0]['after']:.1e} after; the worst, {worst['what']}, "
                  f"{worst['before']:.1e} and {worst['after']:.1e}")
        return sentences

    def training_part():
        import training
        found["training"], sentences = training.train_both(options.device)
        one = found["training"]
        print(f"  loss {one['before']['loss'][0]:.3f}, then {one['before']['loss'][-1]:.3f} before "
              f"and {one['after']['loss'][-1]:.3f} after swap(); at most "
              f"{100 * one['most_apart']:.2f} % apart; {one['before']['seconds']:.0f} and "
              f"{one['after']['seconds']:.0f} s")
        return sentences

    def speed_part():
        import speed
        found["speed"] = speed.time_all(options.device)
        show_speed(found["speed"])
        return []

    run("operators", operators_part)
    if "models" in parts or "training" in parts or "speed" in parts:
        try:
            import transformers  # noqa: F401
        except ImportError:
            print("There is no transformers here: models are not tried.")
            parts = [part for part in parts if part == "operators"]
        else:
            found["about"] = about(options.device)
    run("models", models_part)
    if options.device == "cuda":
        run("training", training_part)
        run("speed", speed_part)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
