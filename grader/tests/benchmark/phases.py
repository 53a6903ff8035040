"""Where the seconds of a grading go, by what `onepass` shows on a terminal while it works.

    python3 grader/tests/benchmark/phases.py build/onepass grade --submission solutions

Runs the command on a pseudo-terminal. Prints for each phase when it began and ended, and for each
exercise when it was in it. Phases may overlap.
"""

import os
import pty
import re
import resource
import sys
import time

PHASES = [("compile beside", r"compiling what (\S+) is"), ("compile", r"compiling (\S+)"),
          ("grade", r"grading (\S+?): "), ("measure", r"measuring (\S+)"),
          ("simulator", r"asking the simulator about (\S+)"), ("nvcc", r"compiling for a GPU()"),
          ("which TODO", r"which TODO of (\S+?)\?")]


def messages(command):
    """(seconds, text) of each progress line; what else the command prints goes on to stdout."""
    begin = time.monotonic()
    process, terminal = pty.fork()
    if process == 0:
        os.execvp(command[0], command)
    rest = ""
    while True:
        try:
            piece = os.read(terminal, 1 << 16).decode(errors="replace")
        except OSError:  # its end
            piece = ""
        if not piece:
            break
        now = time.monotonic() - begin
        *parts, rest = re.split(r"\r\x1b\[K", rest + piece)
        for part in parts:
            yield now, part
        if "\n" in rest:
            sys.stdout.write(rest)
            rest = ""
    os.waitpid(process, 0)
    yield time.monotonic() - begin, ""


def main():
    spans = {}  # (phase, exercise): [first, last, messages]
    end = 0.0
    last_measured = None
    for end, text in messages(sys.argv[1:]):
        for phase, pattern in PHASES:
            found = re.match(pattern, text)
            if found:
                span = spans.setdefault((phase, found[1]), [end, end, 0])
                span[1:] = [end, span[2] + 1]
                if phase == "measure":  # one after the other, each with a line at its beginning only
                    if last_measured:
                        last_measured[1] = end
                    last_measured = span
                break
    if last_measured:
        last_measured[1] = end
    print(f"\n{'seconds':>8} {'from':>7} {'to':>7}")
    for phase, _ in PHASES:
        of_phase = [span for (name, _), span in spans.items() if name == phase]
        if of_phase:
            first, last = min(s[0] for s in of_phase), max(s[1] for s in of_phase)
            print(f"{last - first:8.1f} {first:7.1f} {last:7.1f}  {phase}")
    print()
    for (phase, exercise), (first, last, count) in sorted(spans.items(), key=lambda s: s[1]):
        print(f"{last - first:8.1f} {first:7.1f} {last:7.1f}  {phase} {exercise} ({count} lines)")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{end:8.1f} in all, {used.ru_utime + used.ru_stime:.1f} seconds of processor time")


if __name__ == "__main__":
    main()
