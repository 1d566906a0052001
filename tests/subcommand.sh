# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sourced by the tests of a subcommand from the outside, which are called with the command: $ompdarts; $work, a folder
# that goes at the end; fail; refused, of the function $subcommand that the test defines.
set -uo pipefail
ompdarts=$1
data=$(dirname "$0")/data
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "FAILED: $*" >&2; exit 1; }

# refused MESSAGE ARGUMENT…
refused() {
    local message=$1 status=0
    shift
    "$subcommand" "$@" >"$work/out" 2>"$work/err" || status=$?
    ((status == 2)) || fail "$subcommand $*: exit code $status instead of 2"
    grep -q -- "$message" "$work/err" || fail "$subcommand $*: no '$message' in: $(cat "$work/err")"
    [[ $(wc -l <"$work/err") == 1 && ! -s $work/out ]] || fail "$subcommand $*: not one line on standard error alone"
}
