#!/bin/sh
# Do the references agree with PyTorch? Are the operators of grader/pytorch right, in a
# model too? How fast are PyTorch's own?
# Run it where there is PyTorch for CUDA and a GPU:
#
#   cmake -B build && make -C build all agreement
#   grader/tests/pytorch/run.sh BUILD RESULT
#
# RESULT becomes a folder with agreement.json (docs/data/agreement.json), agreement.md (its tables,
# for docs/agreement.md), model.json (docs/data/model.json), model.txt, solutions.json, a report on the
# solutions, and timing.md, their speed beside PyTorch's (for docs/measured.md). PYTHON names the
# Python that has PyTorch.
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
if [ ! -e "$build/bin/agreement" ]; then
  echo "$build/bin/agreement is missing: make -C $build agreement" >&2
  exit 2
fi
export ONEPASS_LIBRARY="$result/libonepass.so"

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
"$build/onepass" library "$here/../../../solutions" --output "$ONEPASS_LIBRARY" &&
  "$python" "$here/prove.py" --out "$result/model.json" > "$result/model.txt" 2>&1 || status=1
cat "$result/model.txt"
"$build/onepass" grade --submission "$here/../../../solutions" --device gpu \
  --report "$result/solutions.json" || status=1
"$python" "$here/timing.py" "$result/solutions.json" > "$result/timing.md" || status=1
exit $status
