#!/bin/sh
# docs/adding_an_exercise.md, word for word, in a copy of the repository: its files are written, its
# commands run, and what it says that they print is looked for in what they print.
#
# A block belongs to the line before it:
#     `path`:                                     it is that file
#     `path` goes on:   `path`, at the end:       it is added to the file
#     `path`, after the line that begins with `text`:
#     anything else                               ```sh is run, ```text is in the output of that
# Takes minutes, for the copy is built from nothing: skipped (77) but where all is checked.
set -eu
source="$(cd "$(dirname "$0")/../.." && pwd)"
compiler="$1"
downloads="$2" # what cmake fetched for the project's own build, if anything
[ -n "${ONEPASS_CHECK_ALL:-}" ] || exit 77
unset ONEPASS_CORPUS_SHARE # the page's own kernels are graded, whichever share is wanted of ours

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/copy" "$folder/steps"
for part in CMakeLists.txt README.md docs exercises grader solutions; do
  cp -R "$source/$part" "$folder/copy"
done
cd "$folder/copy"

# A step is three files: NNN.head, the line before the block; NNN.kind, its language; NNN.body.
awk -v steps="$folder/steps" '
  !fence && /^```/ {
    fence = $0; sub(/[^`].*/, "", fence)
    name = sprintf("%s/%03d", steps, ++count)
    print head > (name ".head"); print substr($0, length(fence) + 1) > (name ".kind")
    printf "" > (name ".body")
    head = ""; next
  }
  fence && $0 == fence { fence = ""; close(name ".body"); next }
  fence { print > (name ".body"); next }
  NF { head = $0 }
' docs/adding_an_exercise.md

fail() {
  printf '%s\n' "$@"
  exit 1
}

# path_in HEAD: between the first two backquotes.
path_in() {
  printf '%s\n' "$1" | sed 's/^`\([^`]*\)`.*/\1/'
}

# insert BODY FILE START: behind the first line of the file that begins with START.
insert() {
  awk -v body="$1" -v start="$3" '
    { print }
    !done && index($0, start) == 1 { while ((getline line < body) > 0) print line; done = 1 }
    END { exit !done }
  ' "$2" >"$2.new" || fail "no line of $2 begins with $3"
  mv "$2.new" "$2"
}

# As the tests are built themselves, but without optimisation, and without a GPU: what is compared
# are the outputs of the simulator.
cmake -B build -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=None -DONEPASS_CUDA=OFF \
  -DFETCHCONTENT_BASE_DIR="$downloads" >"$folder/output" 2>&1 || fail "$(cat "$folder/output")"

made=0
ran=0
seen=0
for kind in "$folder"/steps/*.kind; do
  step="${kind%.kind}"
  head="$(cat "$step.head")"
  body="$step.body"
  case "$head" in
    '`'*'`:' | '`'*'` goes on:' | '`'*'`, at the end:' | '`'*'`, after the line that begins with '*':')
      path="$(path_in "$head")"
      made=$((made + 1))
      ;;
  esac
  case "$head" in
    '`'*'`, after the line that begins with '*':')
      start="$(printf '%s\n' "$head" |
        sed 's/.*begins with \(`*\)\(.*\)\1:$/\2/; s/^ //; s/ $//')"
      insert "$body" "$path" "$start"
      ;;
    '`'*'` goes on:' | '`'*'`, at the end:') cat "$body" >>"$path" ;;
    '`'*'`:')
      [ ! -e "$path" ] || fail "$path is there already"
      mkdir -p "$(dirname "$path")"
      cp "$body" "$path"
      ;;
    *)
      case "$(cat "$kind")" in
        sh)
          ran=$((ran + 1))
          sh -e "$body" >"$folder/output" 2>&1 || fail "failed:" "$(cat "$body" "$folder/output")"
          ;;
        text)
          while IFS= read -r line; do
            seen=$((seen + 1))
            grep -qxF -e "$line" "$folder/output" ||
              fail "expected: $line" "printed:" "$(cat "$folder/output")"
          done <"$body"
          ;;
        *) fail "a block that is no file, command or output, after: $head" ;;
      esac
      ;;
  esac
done
# The page was understood: a change of its words must not turn its steps into nothing.
[ "$made" -ge 15 ] && [ "$ran" -ge 4 ] && [ "$seen" -ge 10 ] || fail "$made $ran $seen"
