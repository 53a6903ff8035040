#!/bin/sh
# fuzz.sh SECONDS JOBS OUT FUZZER [SEEDS...]: runs a fuzzer for so many seconds in JOBS processes.
# What leads it further gathers in OUT/made; what it finds lies in OUT/found: input that breaks the
# target, or takes it more than 10 s or 2 GB. Exits with 1 if there is any.
#
# SECONDS may be `check`: 8 as a part of `make check_all`. Else, and where there is no fuzzer, it says
# so and exits with 77, a test's "skipped".
set -eu
seconds="$1" jobs="$2" out="$3" fuzzer="$4"
shift 4
skip() {
  echo "Skipped: $*"
  exit 77
}
if [ "$seconds" = check ]; then
  [ -n "${ONEPASS_CHECK_ALL:-}" ] || skip "this is a part of make check_all."
  [ -x "$fuzzer" ] || skip "there is no $fuzzer, which needs a clang++ with libFuzzer" \
    "(Debian: clang, libclang-rt-dev): install it, and run cmake again."
  seconds=8
fi

rm -rf "$out/found"
mkdir -p "$out/made" "$out/found"
more="" status=0
if [ "$jobs" -gt 1 ]; then # goes on after a find
  more="-fork=$jobs -ignore_crashes=1 -ignore_timeouts=1 -ignore_ooms=1"
fi
"$fuzzer" -max_total_time="$seconds" -max_len=65536 -timeout=10 -rss_limit_mb=2048 -verbosity=0 \
  -artifact_prefix="$out/found/" $more "$out/made" "$@" || status=$?
[ -z "$(ls "$out/found")" ] || { echo "Found, in $out/found:" && ls "$out/found" && exit 1; }
exit "$status"
