#!/usr/bin/env bash
# Runs the tests that reach compiled code with AddressSanitizer and UndefinedBehaviorSanitizer, once for each instruction
# set that this machine has. Fails on any report, also one from a process that a test starts.
#
#     tools/sanitize.sh                        # every instruction set, all tests that reach compiled code
#     tools/sanitize.sh avx2                   # only these instruction sets
#     NBFNET_SANITIZE_TESTS="tests/kernels -k hostile" tools/sanitize.sh baseline
#
# Needs Linux, GCC with libasan and libubsan, cmake, ninja, and an environment with the test extra and nanobind.
# NBFNET_SANITIZE_FOLDER says where to build (default: build/sanitize), JOBS how many compilers run at once (default: 1).
# Leaks are not looked for: Python itself leaves memory to the end of the process.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${NBFNET_SANITIZE_FOLDER:-$root/build/sanitize}
read -ra tests <<<"${NBFNET_SANITIZE_TESTS:-tests/kernels tests/semiring tests/model tests/explanation tests/sampling}"
mkdir -p "$folder"

cmake -S "$root" -B "$folder/cmake" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DNBFNET_SANITIZE=ON \
    -DPython_EXECUTABLE="$(command -v python)" >"$folder/cmake.log"
ninja -C "$folder/cmake" -j "${JOBS:-1}"

# A copy of the package with the other extension: the one in use stays as it is.
rm -rf "$folder/src" "$folder/reports"
mkdir -p "$folder/src" "$folder/reports"
cp -R "$root/src/nbfnet" "$folder/src/"
rm -f "$folder"/src/nbfnet/_native*.so
cp "$folder"/cmake/_native*.so "$folder/src/nbfnet/"

# The runtimes come before Python; libstdc++ with them, or they do not see an exception being thrown.
preload="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so) $(g++ -print-file-name=libstdc++.so.6)"
export PYTHONPATH=$folder/src OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} PYTHONDONTWRITEBYTECODE=1
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:log_path=$folder/reports/address
export UBSAN_OPTIONS=print_stacktrace=1:log_path=$folder/reports/undefined
run() { LD_PRELOAD=$preload python "$@"; }

# An editable installation would come before the copy.
run -c "from nbfnet.native import native; raise SystemExit(not native.__file__.startswith('$folder/'))" ||
    { echo "the tests would not load $folder/src: use an environment where nbfnet is not installed as editable"; exit 1; }

if (($#)); then
    sets=("$@")
else
    read -ra sets <<<"$(run -c 'from nbfnet.native import native; print(*native.instruction_sets())')"
fi
# Left out: what measures memory (the sanitizers take much more), what reads the machine code of the real extension, and
# the browser, which does not start with the runtimes before it.
not_here="not loading_takes_no_instructions and not a_large_block_is_used_again and not in_a_browser"
failed=0
cd "$root"
for set in "${sets[@]}"; do
    echo "== $set"
    began=$SECONDS
    NBFNET_INSTRUCTION_SET=$set run -m pytest -q -p no:cacheprovider -k "$not_here" "${tests[@]}" || failed=1
    echo "== $set: $((SECONDS - began)) s"
done
# An allocation that is refused leaves a warning in the same files: not a report.
found=$(grep -lE "ERROR: |runtime error: " -r "$folder/reports" || true)
if [[ -n $found ]]; then
    xargs head -n 40 <<<"$found"
    echo "$(wc -l <<<"$found") processes reported something: $folder/reports"
    failed=1
fi
if ((failed)); then
    echo "FAILED"
    exit 1
fi
echo "no reports, all tests passed"
