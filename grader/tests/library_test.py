"""`onepass library` with nvcc, and no GPU needed: what the library has, says and exports.

    python3 library_test.py ONEPASS ROOT

Two exercises that pass get functions of one name and different bodies, one an ordinary function and
one a kernel template, which a linker would refuse, and take one of for both. A third exercise is the
skeleton. Where there is a GPU, the kernels are run by tests/pytorch.
"""

import ctypes
import pathlib
import re
import subprocess
import sys
import tempfile

CLASH = """
namespace onepass {{
int helper_of_the_same_name() {{ return {number}; }}
template <typename T>
__global__ void kernel_of_the_same_name(T* x) {{ *x = static_cast<T>({number}.0f); }}
void use_of_it(float* x, cudaStream_t stream) {{
  kernel_of_the_same_name<<<1, helper_of_the_same_name(), 0, stream>>>(x);
}}
}}  // namespace onepass
"""
FILES = {"block_sum": CLASH.format(number=1), "forward": CLASH.format(number=2), "residual": None}


def require(holds, what):
    if not holds:
        sys.exit(f"library_test: {what}")


def main():
    onepass, root = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "own/01_rmsnorm"
        folder.mkdir(parents=True)
        for name, added in FILES.items():
            source = root / ("exercises" if added is None else "solutions") / f"01_rmsnorm/{name}.cu"
            (folder / f"{name}.cu").write_text(source.read_text() + (added or ""))
        made = pathlib.Path(scratch) / "libonepass.so"
        command = [onepass, "library", str(folder.parent), "--device", "cpu", "-o", str(made)]
        run = subprocess.run([*command, "--arch", "80,sm_90"], capture_output=True, text=True)
        require(run.returncode == 0 and made.exists(), run.stdout + run.stderr)
        require("2 of 21 exercises" in run.stdout, run.stdout)
        again = "Not graded again, since no file has changed: "
        require(again not in run.stdout, run.stdout)

        symbols = subprocess.run(["nm", "-D", "--defined-only", str(made)], capture_output=True,
                                 text=True, check=True).stdout
        exported = set(re.findall(r" T (\w+)", symbols))
        header = (root / "grader/include/onepass/library.h").read_text()
        declared = set(re.findall(r"ONEPASS_PUBLIC [^;(]*?(onepass_\w+)\(", header))
        require(exported == declared, f"exported and declared differ: {exported ^ declared}")

        library = ctypes.CDLL(str(made))
        for name in ("onepass_says", "onepass_exercise", "onepass_error_text"):
            getattr(library, name).restype = ctypes.c_char_p
        says = {name: library.onepass_says(b"rmsnorm/" + name.encode()).decode()
                for name in (*FILES, "backward", "none")}
        require(says == {"block_sum": "passed", "forward": "passed", "residual": "not started",
                         "backward": "missing", "none": "there is no exercise of that name"},
                f"it says {says}")
        require(library.onepass_exercise(0) == b"rmsnorm/block_sum" and
                library.onepass_exercise(21) is None, "its list is another")

        row, stride = (ctypes.c_float * 4)(), ctypes.c_int64(4)
        residual = [0, row, stride, row, stride, row, row, stride, row, stride, row, 1, 4,
                    ctypes.c_float(0), None]
        for function in (library.onepass_rmsnorm_residual, library.onepass_rmsnorm_residual_llama):
            require(function(*residual) == -1, "what is left out can be called")
        require(library.onepass_rmsnorm_forward_llama(
            0, row, stride, row, row, stride, row, 0, 4, ctypes.c_float(0), None) == 0,
            "LLaMA's cast order is not in it")
        for cols, error in ((65536, 0), (65537, -1)):  # which need 1.7
            wide = ctypes.c_int64(cols)
            require(library.onepass_rmsnorm_forward(
                0, row, wide, row, row, wide, row, 0, cols, ctypes.c_float(0), None) == error,
                f"1.2 with {cols} columns is not {error}")
        for what, arguments in (("a stride less than the width", [0, row, ctypes.c_int64(3), row, 1, 4]),
                                ("no address", [0, None, stride, row, 1, 4]),
                                ("no such type", [3, row, stride, row, 1, 4]),
                                ("rows below 0", [0, row, stride, row, -1, 4])):
            require(library.onepass_block_sum(*arguments, None) == -2, f"{what} is taken")
        require(library.onepass_block_sum(0, None, stride, None, 0, 4, None) == 0,
                "no rows are nothing to do")

        # A header for C, and what the linker is given.
        program = pathlib.Path(scratch) / "program.c"
        program.write_text('#include <onepass/library.h>\n#include <stdio.h>\n'
                           'int main(void) { return puts(onepass_says("rmsnorm/forward")) < 0; }\n')
        subprocess.run(["cc", "-std=c99", "-Wall", "-Werror", f"-I{root}/grader/include", str(program),
                        "-o", str(program.with_suffix("")), f"-L{scratch}", "-lonepass",
                        f"-Wl,-rpath,{scratch}"], check=True)
        told = subprocess.run([str(program.with_suffix(""))], capture_output=True, text=True)
        require(told.stdout == "passed\n", f"the C program says {told}")

        # What was graded is not graded again, but where it has changed.
        with open(folder / "block_sum.cu", "a", encoding="utf-8") as changed:
            changed.write("// changed\n")
        run = subprocess.run(command, capture_output=True, text=True)
        require(again + "2\n" in run.stdout, run.stdout)
        graded = subprocess.run([onepass, "grade", "1.1", "--submission", str(folder.parent), "--device",
                                 "cpu"], capture_output=True, text=True)
        require(graded.returncode == 0, graded.stdout + graded.stderr)
        run = subprocess.run(command, capture_output=True, text=True)
        require(again + "3\n" in run.stdout and "2 of 21 exercises" in run.stdout, run.stdout)
        other_seed = subprocess.run([*command, "--seed", "2"], capture_output=True, text=True)
        require(again not in other_seed.stdout, other_seed.stdout)

        (folder / "block_sum.cu").unlink()
        (folder / "forward.cu").unlink()
        made.unlink()
        run = subprocess.run(command, capture_output=True, text=True)
        require(run.returncode == 1 and not made.exists() and "nothing to make a library of" in
                run.stdout, f"of nothing that passed: {run}")
        run = subprocess.run([*command, "--arch", "fast"], capture_output=True, text=True)
        require(run.returncode == 2 and "--arch 80,90" in run.stderr, f"of a strange --arch: {run}")


if __name__ == "__main__":
    main()
