# What an editor is told: clang, with the flags that clangd takes from .clangd, has nothing to say of
# exercises and solutions, and much of what is wrong; and they are in compile_commands.json.
#
#   editor_test.sh SOURCE BUILD
set -eu
source="$1"
build="$2"

for file in "$source"/exercises/*/*.cu "$source"/solutions/*/*.cu; do
  grep -qF "\"file\": \"$file\"" "$build/compile_commands.json" ||
    { echo "not in compile_commands.json: $file"; exit 1; }
done

clang=""
for name in clang clang-14; do
  command -v "$name" >/dev/null && clang="$name" && break
done
[ -n "$clang" ] || { echo "There is no clang: skipped."; exit 77; }

# Of .clangd: the words between the brackets, of exercises, then of headers.
words() {
  sed -n '/Add: \[/,/\]/p' | tr -d '\n' | sed 's/.*\[//; s/\].*//; s/,/ /g'
}
flags="$(sed '/^---/,$d' "$source/.clangd" | words)"
header_flags="$(sed '1,/^---/d' "$source/.clangd" | words)"
scratch="$(mktemp -d)"
trap 'rm -r "$scratch"' EXIT

# told FILE FLAG...: what clang says of it, in the folder of an exercise, from where the flags' paths go.
told() {
  (cd "$source/exercises/01_rmsnorm" && $clang $flags -fsyntax-only "$@" 2>&1) || true
}
for file in "$source"/exercises/*/*.cu "$source"/solutions/*/*.cu; do
  [ -z "$(told "$file")" ] || { told "$file"; exit 1; }
done
for header in "$source"/grader/include/onepass/*.h; do
  (cd "$source/grader/include/onepass" &&
    $clang $header_flags -Wno-pragma-once-outside-header -fsyntax-only "$header") || exit 1
done
told "$source/solutions/01_rmsnorm/forward.cu" --cuda-path=/nowhere >"$scratch/without_toolkit"
[ ! -s "$scratch/without_toolkit" ] || { cat "$scratch/without_toolkit"; exit 1; }

# reports LINE WORDS: with that line in the place of a TODO's code, clang says these words of it.
reports() {
  awk -v line="$1" '/\[solution 1\]/ { print line; next } { print }' \
    "$source/solutions/01_rmsnorm/forward.cu" >"$scratch/forward.cu"
  told "$scratch/forward.cu" | grep -qF "error: $2" ||
    { echo "not told of '$1': $2"; told "$scratch/forward.cu"; exit 1; }
}
reports 'float a = ;' 'expected expression'
reports 'float a = threadIdx.w;' "no member named 'w'"
reports 'float a = nowhere;' "use of undeclared identifier 'nowhere'"
reports 'float a = 1.0f' "expected ';'"
# And of launches: the shape, the arguments, and what is no kernel.
launch() {
  cat >"$scratch/launch.cu" <<EOF
#include <onepass/rmsnorm.h>
__global__ void kernel(float* x);
void other(float* x);
void launch(float* x) { $1; }
EOF
  told "$scratch/launch.cu" | grep -q "$2" ||
    { echo "not told of '$1': $2"; told "$scratch/launch.cu"; exit 1; }
}
launch 'kernel<<<1, 2>>>(1.0f)' 'error: cannot initialize a parameter'
launch 'kernel<<<1>>>(x)' 'error: too few execution configuration arguments'
launch 'kernel<<<x, 2>>>(x)' 'error: no viable conversion'
launch 'other<<<1, 2>>>(x)' 'error: kernel call to non-global function'
