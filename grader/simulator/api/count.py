#!/usr/bin/env python3
"""Puts into docs/simulator_api.md how many names of each kind cuda.txt has.

    count.py

A kind that the page lacks, or that cuda.txt has no more, is printed: its row is written by hand.
"""
import pathlib
import re

here = pathlib.Path(__file__).resolve().parent
page = here.parents[2] / "docs/simulator_api.md"


def counts():
    """By kind: what stands behind "refused: ", or before any other colon."""
    found = {}
    for line in (here / "cuda.txt").read_text().splitlines():
        if line.startswith("== "):
            kind = re.sub(r"^refused: |(?<=^replaced):.*", "", line[3:])
            found.setdefault(kind, 0)
        elif line and not line.startswith("#"):
            found[kind] += 1
    return found


left = counts()


def counted(row):
    if row[1] not in left:
        print("no such kind:", row[1])
        return row[0]
    return "| %s | %d |" % (row[1], left.pop(row[1]))


page.write_text(re.sub(r"^\| ([^|*]+) \| \d+ \|", counted, page.read_text(), flags=re.M))
for kind, number in left.items():
    print("no row for %s, which has %d names" % (kind, number))
