#!/bin/sh
# Do the references agree with PyTorch? Is the module a drop-in? How fast are PyTorch's operators?
# Run it where there is PyTorch for CUDA and a GPU:
#
#   cmake -B build && make -C build all agreement onepass_torch_library
#   grader/tests/pytorch/run.sh BUILD RESULT
#
# RESULT becomes a folder with agreement.json (docs/data/agreement.json), agreement.md (its tables,
# for docs/agreement.md), module.txt, solutions.json, a report on the solutions, and timing.md, their
# speed beside PyTorch's (for docs/measured.md). PYTHON names the Python that has PyTorch.
set -eu
if [ $# -ne 2 ]; then
  echo "Usage: grader/tests/pytorch/run.sh BUILD RESULT" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
mkdir -p "$2"
result=$(cd "$2" && pwd)
python=${PYTHON:-python3}
for file in bin/agreement lib/libonepass_torch_library.so; do
  if [ ! -e "$build/$file" ]; then
    echo "$build/$file is missing: make -C $build agreement onepass_torch_library" >&2
    exit 2
  fi
done
export ONEPASS_TORCH_LIBRARY="$build/lib/libonepass_torch_library.so"

cases=$(mktemp -d)
trap 'rm -rf "$cases"' EXIT
status=0
for seed in 1 2 3; do
  "$build/bin/agreement" write "$cases/$seed" --seed $seed --cases 20
  "$python" "$here/torch_outputs.py" "$cases/$seed"
done
"$build/bin/agreement" judge "$cases/1" "$cases/2" "$cases/3" --out "$result/agreement.json" ||
  status=1
"$build/bin/agreement" table "$result/agreement.json" > "$result/agreement.md"
"$python" "$here/module_test.py" > "$result/module.txt" 2>&1 || status=1
tail -n 3 "$result/module.txt"
"$build/onepass" grade --submission "$here/../../../solutions" --device gpu \
  --report "$result/solutions.json" || status=1
"$python" "$here/timing.py" "$result/solutions.json" > "$result/timing.md" || status=1
exit $status
