#!/usr/bin/env python3
"""Changes the solutions in small ways, one at a time (operators.py), and has each change graded.

A mutant that passes shows a hole in the checks, unless it breaks no promise: harmless.txt says of
which that is known, and why. What was found is remembered in OUT by the text of the mutant and of
the grader: a run that was stopped goes on where it was, and one that comes later grades what is new.

    mutants.py --onepass build/onepass --out build/mutants [--exercise rmsnorm/forward]
               [--sample 2 --seed 1] [--like is_aligned] [--jobs 2] [--list]

Exit: 0 if every mutant that was graded is killed or known to be harmless or out of reach, 1 if one survives or an
entry of harmless.txt fits no mutant, 2 for wrong usage.
"""
import argparse
import fnmatch
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True  # next to the sources
from operators import KINDS, blank_out

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]


# The name of one that is defined there.
FUNCTION = re.compile(r'^ {0,4}[\w<>,*& ]*?\b(?!if\b)(\w+)\((?=[^;]*?\) (?:const )?\{\n)',
                      re.MULTILINE)


class Mutant:
    """`line` is what is shown of it, and what harmless.txt is about: the function, and the line as
    git diff --word-diff has it."""

    def __init__(self, exercise, function, source, start, end, text, kind):
        self.exercise = exercise
        self.source = source[:start] + text + source[end:]
        first = source.rfind('\n', 0, start) + 1
        last = source.find('\n', end)
        changed = f'[-{source[start:end].strip()}-]{{+{text.strip()}+}}'
        around = (' ' * source[start:end].startswith(' '), ' ' * source[start:end].endswith(' '))
        line = source[first:start] + around[0] + changed + around[1] + source[end:last]
        self.line = function + ': ' + ' '.join(re.sub(r'//.*', '', line).split())
        number = source.count('\n', 0, start) + 1
        self.title = f'{exercise}:{number} [{kind}]\n    {self.line}'

    def key(self, grader):
        return hashlib.sha256((grader + self.source).encode()).hexdigest()[:24]

    def order(self, seed):
        """Its place in the samples of that seed: its own, whatever becomes of other lines."""
        return hashlib.sha256(f'{seed} {self.exercise} {self.line}'.encode()).digest()


def mutants_of(exercise, path):
    source = path.read_text()
    code = blank_out(source)
    body = code.find('namespace onepass')
    functions = [(found.start(1), found.group(1)) for found in FUNCTION.finditer(code)]
    known = {source}
    for kind in KINDS:
        for start, end, text, name in kind(code):
            within = [function for at, function in functions if at < start]
            mutant = Mutant(exercise, (within or ['file'])[-1], source, start, end, text, name)
            if start > body and mutant.source not in known:
                known.add(mutant.source)
                yield mutant


def solutions():
    for path in sorted((REPOSITORY / 'solutions').glob('*/*.cu')):
        yield path.parent.name.split('_', 1)[1] + '/' + path.stem, path


def grader_of(exercise):
    """A name for what grades it: the grader without its tests and the other chapters."""
    chapters = REPOSITORY / 'grader' / 'chapters'
    others = {path for path in chapters.iterdir() if path.is_dir()}
    others -= {chapters / 'common', chapters / exercise.split('/')[0]}
    others.add(REPOSITORY / 'grader' / 'tests')
    total = hashlib.sha256()
    for path in sorted((REPOSITORY / 'grader').rglob('*')):
        if path.is_file() and not others.intersection(path.parents):
            total.update(path.read_bytes())
    return total.hexdigest()


class Entry:
    """A line of harmless.txt: which mutants of which exercises."""

    def __init__(self, line, reason):
        self.line = line.strip()
        self.out_of_reach = reason.startswith('Out of reach')
        self.exercises, line = self.line.split(None, 1)
        self.pattern = re.compile('.*'.join(re.escape(part) for part in line.split('...')))

    def fits(self, mutant):
        return (any(fnmatch.fnmatch(mutant.exercise, one) for one in self.exercises.split(','))
                and self.pattern.fullmatch(mutant.line))


def harmless():
    return [Entry(line, reason) for reason in (HERE / 'harmless.txt').read_text().split('\n\n')
            for line in reason.splitlines() if line.startswith('  ')]


def grade(mutant, onepass):
    """'no mutant' if it does not compile, 'killed' or 'passes'."""
    with tempfile.TemporaryDirectory() as scratch:
        path = dict(solutions())[mutant.exercise]
        submission = pathlib.Path(scratch) / 'submission'
        shutil.copytree(REPOSITORY / 'exercises', submission)
        (submission / path.parent.name / path.name).write_text(mutant.source)
        report = pathlib.Path(scratch) / 'report.json'
        run = subprocess.run([onepass, 'grade', '--submission', submission, mutant.exercise,
                              '--device', 'cpu', '--checks-only', '--no-experiments', '--no-nvcc',
                              '--time-limit', '2', '--until', 'failure', '--report', report],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if not report.exists():
            raise RuntimeError(f'No report of {mutant.title}\n{run.stderr}')
        exercise = json.loads(report.read_text())['exercises'][0]
        if exercise['status'] == 'compile error':
            return 'no mutant'
        return 'passes' if exercise['score'] == exercise['max_score'] else 'killed'


class Memory:
    """What was found before, a line each: a run may be stopped at any time."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / 'results.txt'
        self.lock = threading.Lock()
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        self.results = dict(line.split(' ', 1) for line in lines if line.endswith(RESULTS))

    def add(self, key, result):
        with self.lock, self.path.open('a') as file:
            file.write(f'{key} {result}\n')
            self.results[key] = result


RESULTS = ('no mutant', 'killed', 'passes')


def grade_all(mutants, onepass, memory, jobs):
    """(mutant, result) of each."""
    graders = {exercise: grader_of(exercise) for exercise in {m.exercise for m in mutants}}
    done = 0

    def settle(mutant):
        nonlocal done
        key = mutant.key(graders[mutant.exercise])
        if key not in memory.results:
            memory.add(key, grade(mutant, onepass))
        with memory.lock:
            done += 1
            if sys.stderr.isatty() or done % 100 == 0:
                print(f'\r{done} of {len(mutants)}', end='', file=sys.stderr, flush=True)
        return mutant, memory.results[key]

    with ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(settle, mutants))
    print(file=sys.stderr)
    return results


def show(results, entries):
    """The survivors, and a table. How many survive."""
    table, total = [], 0
    for exercise, _ in solutions():
        own = [result for mutant, result in results if mutant.exercise == exercise]
        passing = [m for m, result in results if m.exercise == exercise and result == 'passes']
        surviving = [m for m in passing if not any(entry.fits(m) for entry in entries)]
        beyond = [m for m in passing if any(e.fits(m) for e in entries if e.out_of_reach)]
        total += len(surviving)
        for mutant in surviving:
            print(f'survives: {mutant.title}')
        if own:
            known = len(passing) - len(surviving) - len(beyond)
            table.append((exercise, own.count('killed'), known, len(beyond), len(surviving)))
    table.append(('all', *(sum(column) for column in list(zip(*table))[1:])))
    print(f'{"":32}  killed  harmless  out of reach  surviving')
    for exercise, *numbers in table:
        print('{:32}{:8}{:10}{:14}{:11}'.format(exercise, *numbers))
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--onepass', type=pathlib.Path, required=True)
    parser.add_argument('--out', type=pathlib.Path, required=True)
    parser.add_argument('--exercise', default='', help='those whose name begins so')
    parser.add_argument('--sample', type=int, help='so many of each exercise')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--like', default='', help='those whose changed line has this')
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    parser.add_argument('--list', action='store_true', help='list the mutants, grade none')
    arguments = parser.parse_args()
    entries = harmless()
    everything, chosen = [], []
    for exercise, path in solutions():
        mutants = list(mutants_of(exercise, path))
        everything += mutants
        if exercise.startswith(arguments.exercise):
            mutants = [mutant for mutant in mutants if re.search(arguments.like, mutant.line)]
            if arguments.sample is not None:
                mutants.sort(key=lambda mutant: mutant.order(arguments.seed))
            chosen += mutants[:arguments.sample]
    if not chosen:
        print('no such mutant', file=sys.stderr)
        return 2
    if arguments.list:
        print(*(mutant.title for mutant in chosen), sep='\n')
        return 0
    if arguments.sample is not None:
        print(f'{arguments.sample} mutants of each exercise, seed {arguments.seed}')
    results = grade_all(chosen, arguments.onepass.resolve(), Memory(arguments.out), arguments.jobs)
    surviving = show(results, entries)
    stale = [e for e in entries if not any(e.fits(mutant) for mutant in everything)]
    for entry in stale:
        print(f'harmless.txt: "{entry.line}" fits no mutant')
    return 1 if surviving or stale else 0


if __name__ == '__main__':
    sys.exit(main())
