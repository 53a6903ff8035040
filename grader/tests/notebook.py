"""docs/colab.ipynb: is it a notebook, and do its cells run?

    notebook.py NOTEBOOK                  checks its form
    notebook.py NOTEBOOK --run REPOSITORY in a scratch folder, runs the cells as Jupyter would: Python,
                                          lines that begin with ! in a shell, and %cd

Running them clones REPOSITORY and builds it, which takes minutes; nvidia-smi alone may fail.
"""
import json
import os
import re
import subprocess
import sys
import tempfile


def code_cells(notebook):
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def as_python(cell):
    """The cell with its shell lines as calls."""
    cell = re.sub(r"^!(.*)$", lambda line: f"shell({line[1]!r})", cell, flags=re.M)
    return re.sub(r"^%cd (.*)$", lambda line: f"os.chdir({line[1]!r})", cell, flags=re.M)


def check(notebook):
    assert notebook["nbformat"] == 4 and notebook["nbformat_minor"] >= 5
    assert notebook["metadata"]["colab"]["gpuType"] == "T4"
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in notebook["cells"]:
        assert cell["cell_type"] in ("markdown", "code") and isinstance(cell["metadata"], dict)
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None, "save it without outputs"
    for cell in code_cells(notebook):
        compile(as_python(cell), "cell", "exec")


def shell(command):
    print(f"$ {command}", flush=True)
    code = subprocess.run(["bash", "-c", command]).returncode
    if code != 0 and not command.startswith("nvidia-smi"):
        sys.exit(f"{command}: exit {code}")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        notebook = json.load(file)
    check(notebook)
    if sys.argv[2:3] == ["--run"]:
        os.environ["REPOSITORY"] = os.path.abspath(sys.argv[3])
        with tempfile.TemporaryDirectory() as scratch:
            os.chdir(scratch)
            names = {"os": os, "shell": shell}
            for cell in code_cells(notebook):
                exec(as_python(cell), names)
            os.chdir("/")


main()
