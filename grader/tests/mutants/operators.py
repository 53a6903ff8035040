"""The small changes that mutants.py makes to a solution, one at a time.

Each of KINDS is given the source with everything blanked out that is left as it is, and yields
(start, end, text, name): what to put in place of which part, and what kind of change that is. What
gives the same program nearly always is left out here, by class; single lines are in harmless.txt.
"""
import re

# Comments, strings and preprocessor lines; what only the compiler checks or is told; shared memory
# asked for at run time, which no solution uses; and numbers that are a choice, as a block's threads.
LEFT_ALONE = [r'//[^\n]*', r'/\*.*?\*/', r'"(?:\\.|[^"\\\n])*"', r'^[ \t]*#[^\n]*',
              r'\bstatic_assert\([^;]*;', r'__launch_bounds__\(\w+\)', r', 0, stream>>>',
              r'\bconstexpr int \w+ = \d+;', r'\bconstexpr int kUnroll = [^;]*;']


def blank_out(source):
    """The source with all of that as blanks, of the same length."""
    return re.sub('|'.join(LEFT_ALONE), lambda found: re.sub(r'[^\n]', ' ', found.group()), source,
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


def replace_operators(code):
    for operator, others in OPERATORS.items():
        for found in re.finditer(re.escape(operator), code):
            for other in others:
                yield found.start(), found.end(), other, 'operator'


def change_conditions(code):
    for found in re.finditer(r'\bif (?=\()', code):
        opening = found.end()
        end = closing(code, opening) + 1
        if not re.fullmatch(r'[^&|]* [=!]= [^&|]*', code[opening:end]):  # else its operator is
            yield opening, end, '(!' + code[opening:end] + ')', 'negated'
        yield opening, end, '(true)', 'guard dropped'
        yield opening, end, '(false)', 'branch dropped'


def drop_terms(code):
    """Each term of a conjunction: of the tests for alignment above all."""
    def skip_blanks(at):
        return at + len(code[at:]) - len(code[at:].lstrip())

    def begins(at):
        return (code[:at].endswith(('(', '&&', '||', 'return', '?', ';')) or
                re.search(r'(?<![=!<>])=$', code[:at]) and code[at] != '=')

    for found in re.finditer(r' &&\s', code):
        depth, start = 0, found.start()
        while depth > 0 or not begins(start):
            start -= 1
            depth += {')': 1, '(': -1}.get(code[start], 0)
        yield skip_blanks(start), found.start(), 'true', 'term dropped'
        depth, end = 0, found.end()
        while depth > 0 or not code.startswith((')', ' &&', ' ||', ' ?', ';'), end):
            depth += {'(': 1, ')': -1}.get(code[end], 0)
            end += 1
        yield skip_blanks(found.end()), end, 'true', 'term dropped'


def change_numbers(code):
    """By one; powers of two, as the lanes of a warp and the bytes of a vector, to their neighbours.
    Not the remainder in tests for alignment."""
    for found in re.finditer(r'(?<![\w.])(\d+)(?![\w.])', code):
        if re.search(r' % \w+ == $', code[:found.start()]):
            continue
        number = int(found.group())
        is_power = number >= 4 and number & (number - 1) == 0
        for other in (number // 2, number * 2) if is_power else (number - 1, number + 1):
            if other >= 0:
                yield found.start(), found.end(), str(other), 'number'
    for found in re.finditer(r' % (V|elements|kWide|kPairs) ==', code):
        yield found.start(1), found.end(1), '4', 'number'  # which is right for fp32
    for found in re.finditer(r'(?<![\w.])(\d+\.\d+)f\b', code):
        yield found.start(), found.end(), str(float(found.group(1)) + 1.0) + 'f', 'number'


def drop_statements(code):
    barriers = r'__syncthreads\(\);|__syncwarp\([^;]*\);|__threadfence\(\);'
    for found in re.finditer(barriers + r'|(?:break|continue);', code):
        yield found.start(), found.end(), ';', 'statement dropped'


def drop_casts(code):
    """Those that keep products in 64 bits, and those that round in the middle of an expression: at
    its end an assignment converts as well."""
    for found in re.finditer(r'static_cast<int64_t>(?=\()|(?<=\()static_cast<T>(?=\()', code):
        yield found.start(), found.end(), '', 'cast dropped'
    for found in re.finditer(r'\bint64_t(?= \w+ = )', code):
        yield found.start(), found.end(), 'int', 'narrowed'


# Names that are easily taken for one another.
FAMILIES = [r'\w+_stride|cols', r'half|rotary_dim|head_dim', r'rows|cols', r'tokens|heads',
            r'channels|space|batch', r'lane|warp|threadIdx\.x|threadIdx\.y', r'q_heads|k_heads',
            r'blockDim\.x|gridDim\.x|blockDim\.y', r'mean|rstd', r'weight|bias', r'dweight|dbias',
            r'cos|sin']


def exchange_names(code):
    """Each for the next of its family that there is in the file."""
    for family in FAMILIES:
        names = sorted(set(re.findall(r'(?<![\w.])(?:' + family + r')(?!\w)', code)))
        for name, other in zip(names, names[1:] + names[:1]):
            for found in re.finditer(r'(?<![\w.])' + re.escape(name) + r'(?![\w(])', code):
                # Not where it is declared, behind its type.
                declares = re.search(r'(?:int|int64_t|float|auto|bool|T\*) $', code[:found.start()])
                if name != other and not declares:
                    yield found.start(), found.end(), other, 'name'


def exchange_functions(code):
    for name, other in {'rsqrtf': 'sqrtf', '__shfl_xor_sync': '__shfl_down_sync'}.items():
        for found in re.finditer(r'\b' + name + r'\b', code):
            yield found.start(), found.end(), other, 'function'


KINDS = [replace_operators, change_conditions, drop_terms, change_numbers, drop_statements,
         drop_casts, exchange_names, exchange_functions]
