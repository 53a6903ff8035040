#!/usr/bin/env python3
"""Changes the solutions in small ways, one at a time, and has each change graded.

A mutant that passes shows a hole in the checks, unless it breaks no promise: those stand in
equivalent.txt, each with the reason. Results are remembered by the text of the mutant in OUT, so a
run that was stopped goes on where it was; delete OUT after a change of the grader.

    mutants.py --onepass build/onepass --out build/mutants [--exercise rmsnorm/forward]
               [--sample 40 --seed 1] [--jobs 2] [--list]

Exit: 0 if every mutant that was graded is killed or listed, 1 if one survives, 2 for wrong usage.
"""
import argparse
import hashlib
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]


def blank_out(source):
    """The source with comments, strings and preprocessor lines as blanks, of the same length."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|^[ \t]*#[^\n]*'
    return re.sub(pattern, lambda found: re.sub(r'[^\n]', ' ', found.group()), source,
                  flags=re.DOTALL | re.MULTILINE)


def closing(code, opening):
    """Where the parenthesis that opens there closes."""
    depth = 0
    for at in range(opening, len(code)):
        depth += {'(': 1, ')': -1}.get(code[at], 0)
        if depth == 0:
            return at
    return len(code)


# What is put in place of an operator. clang-format puts spaces around binary operators only, so
# that brackets of templates, pointers and references are not taken for them.
OPERATORS = {
    ' < ': [' <= '], ' <= ': [' < '], ' > ': [' >= '], ' >= ': [' > '],
    ' == ': [' != '], ' != ': [' == '], ' && ': [' || '], ' || ': [' && '],
    ' + ': [' - '], ' - ': [' + '], ' * ': [' + '], ' / ': [' * '], ' % ': [' / '],
    ' += ': [' -= ', ' = '], ' -= ': [' += '], ' *= ': [' /= '], ' /= ': [' *= '],
}
FUNCTIONS = {'rsqrtf': 'sqrtf', '__shfl_xor_sync': '__shfl_down_sync', 'fmaxf': 'fminf'}
STATEMENTS = r'__syncthreads\(\);|__syncwarp\([^;]*\);|__threadfence\(\);|(?:break|continue);'
# Names that are easily taken for one another.
FAMILIES = [r'\w+_stride|cols|half|rotary_dim|head_dim', r'rows|cols|tokens|channels|space|batch',
            r'lane|warp|threadIdx\.x|threadIdx\.y', r'blockDim\.x|gridDim\.x|blockDim\.y',
            r'q_heads|k_heads|heads', r'mean|rstd', r'weight|bias', r'dweight|dbias', r'cos|sin']


def replace_operators(code):
    for operator, others in OPERATORS.items():
        for found in re.finditer(re.escape(operator), code):
            for other in others:
                yield found.start(), found.end(), other, 'operator'


def change_conditions(code):
    for found in re.finditer(r'\b(?:if|while) \(', code):
        opening = found.end() - 1
        end = closing(code, opening)
        yield opening, end + 1, '(!' + code[opening:end + 1] + ')', 'negated'
        if found.group().startswith('if'):
            yield opening, end + 1, '(true)', 'guard dropped'
            yield opening, end + 1, '(false)', 'branch dropped'


def drop_terms(code):
    """Each term of a conjunction, for true: of the tests for alignment above all."""
    for found in re.finditer(r'(?:= |\(|return )([^;{}=]*? && [^;{}]*?);', code):
        at = found.start(1)
        for term in re.split(r' &&\s+', found.group(1)):
            start = code.index(term, at)
            at = start + len(term)
            if term.count('(') == term.count(')') and term.strip():
                yield start, at, 'true', 'term dropped'


def change_numbers(code):
    for found in re.finditer(r'(?<![\w.])(\d+)(?![\w.])', code):
        for other in {int(found.group()) + 1, max(int(found.group()) - 1, 0)}:
            if other != int(found.group()):
                yield found.start(), found.end(), str(other), 'number'
    for found in re.finditer(r'(?<![\w.])(\d+\.\d+)f\b', code):
        yield found.start(), found.end(), str(float(found.group(1)) + 1.0) + 'f', 'number'


def drop_statements(code):
    for found in re.finditer(STATEMENTS, code):
        yield found.start(), found.end(), ';', 'statement dropped'


def drop_casts(code):
    for found in re.finditer(r'static_cast<(?:int64_t|float|T)>\(', code):
        yield found.start(), found.end() - 1, '', 'cast dropped'


def exchange_names(code):
    for family in FAMILIES:
        names = sorted(set(re.findall(r'(?<![\w.])(?:' + family + r')(?!\w)', code)))
        for name in names:
            # Not where it is declared: behind its type.
            for found in re.finditer(r'(?<![\w.>*&] )(?<![\w.])' + re.escape(name) + r'(?![\w(])', code):
                if re.search(r'(?:int|int64_t|float|auto|bool|double|[*&>]) $', code[:found.start()]):
                    continue
                for other in names:
                    if other != name:
                        yield found.start(), found.end(), other, 'name'


def exchange_functions(code):
    for name, other in FUNCTIONS.items():
        for found in re.finditer(r'\b' + name + r'\b', code):
            yield found.start(), found.end(), other, 'function'


KINDS = [replace_operators, change_conditions, drop_terms, change_numbers, drop_statements,
         drop_casts, exchange_names, exchange_functions]


class Mutant:
    def __init__(self, exercise, source, start, end, text, kind):
        self.exercise = exercise
        self.kind = kind
        self.source = source[:start] + text + source[end:]
        self.line = source.count('\n', 0, start) + 1
        first = source.rfind('\n', 0, start) + 1
        last = source.find('\n', end)
        self.before = ' '.join(source[first:last].split())
        self.after = ' '.join((source[first:start] + text + source[end:last]).split())
        self.key = hashlib.sha256((exercise + self.source).encode()).hexdigest()[:24]

    def __str__(self):
        return f'{self.exercise}:{self.line} [{self.kind}]\n  - {self.before}\n  + {self.after}'


def mutants_of(exercise, path):
    source = path.read_text()
    code = blank_out(source)
    body = code.find('namespace onepass')
    known = set()
    for kind in KINDS:
        for start, end, text, name in kind(code):
            mutant = Mutant(exercise, source, start, end, text, name)
            if start > body and mutant.source != source and mutant.key not in known:
                known.add(mutant.key)
                yield mutant


def solutions():
    for path in sorted((REPOSITORY / 'solutions').glob('*/*.cu')):
        yield path.parent.name.split('_', 1)[1] + '/' + path.stem, path


def equivalents():
    """From (exercise, line before, line after) to the reason."""
    listed = {}
    text = (pathlib.Path(__file__).parent / 'equivalent.txt').read_text()
    for entry in re.split(r'\n\s*\n', re.sub(r'^#.*\n', '', text, flags=re.MULTILINE)):
        fields = dict(line.split(': ', 1) for line in entry.strip().splitlines() if ': ' in line)
        if fields:
            listed[(fields['exercise'], fields['before'], fields['after'])] = fields['because']
    return listed


def grade(mutant, onepass):
    """'does not compile', 'killed' or 'survives'."""
    with tempfile.TemporaryDirectory() as scratch:
        submission = pathlib.Path(scratch) / 'submission'
        shutil.copytree(REPOSITORY / 'exercises', submission)
        folder = next(path for name, path in solutions() if name == mutant.exercise)
        (submission / folder.parent.name / folder.name).write_text(mutant.source)
        report = pathlib.Path(scratch) / 'report.json'
        subprocess.run([onepass, 'grade', '--submission', submission, '--exercise', mutant.exercise,
                        '--device', 'cpu', '--checks-only', '--no-experiments', '--time-limit', '2',
                        '--report', report],
                       capture_output=True, check=False)
        exercise = next(e for e in json.loads(report.read_text())['exercises']
                        if e['id'] == mutant.exercise)
        if exercise['status'] == 'compile error':
            return 'does not compile'
        return 'survives' if exercise['score'] == exercise['max_score'] else 'killed'


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--onepass', type=pathlib.Path, required=True)
    parser.add_argument('--out', type=pathlib.Path, required=True)
    parser.add_argument('--exercise', default='', help='those whose name begins so')
    parser.add_argument('--sample', type=int, help='so many of each exercise')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--list', action='store_true', help='list the mutants, grade none')
    arguments = parser.parse_args()
    chosen = []
    for exercise, path in solutions():
        if exercise.startswith(arguments.exercise):
            mutants = list(mutants_of(exercise, path))
            if arguments.sample is not None and arguments.sample < len(mutants):
                mutants = random.Random(arguments.seed).sample(mutants, arguments.sample)
            chosen += mutants
    if not chosen:
        print(f'no exercise begins with "{arguments.exercise}"', file=sys.stderr)
        return 2
    if arguments.list:
        for mutant in chosen:
            print(mutant)
        return 0
    arguments.out.mkdir(parents=True, exist_ok=True)
    listed = equivalents()
    done = 0

    def settle(mutant):
        nonlocal done
        memory = arguments.out / (mutant.key + '.txt')
        if not memory.exists():
            result = grade(mutant, arguments.onepass.resolve())
            memory.with_suffix('.new').write_text(result)
            memory.with_suffix('.new').rename(memory)
        done += 1
        if sys.stderr.isatty() or done % 50 == 0:
            print(f'\r{done} of {len(chosen)}', end='', file=sys.stderr, flush=True)
        return memory.read_text()

    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(zip(chosen, pool.map(settle, chosen)))
    print(file=sys.stderr)
    survivors = 0
    for exercise, _ in solutions():
        own = [(mutant, result) for mutant, result in results if mutant.exercise == exercise]
        compiled = [(mutant, result) for mutant, result in own if result != 'does not compile']
        alive = [mutant for mutant, result in compiled if result == 'survives']
        excused = [mutant for mutant in alive if (exercise, mutant.before, mutant.after) in listed]
        unexcused = [mutant for mutant in alive if mutant not in excused]
        survivors += len(unexcused)
        for mutant in unexcused:
            print(mutant)
        if own:
            print(f'{exercise}: {len(compiled)} mutants, {len(compiled) - len(alive)} killed, '
                  f'{len(excused)} harmless, {len(unexcused)} survive')
    return 1 if survivors else 0


if __name__ == '__main__':
    sys.exit(main())
