#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: openmp_rows.sh CTEST BUILD_FOLDER docs/openmp.md
#
# Every row of the tables in docs/openmp.md names a test that exists, in its last column: its name, or the part that the
# names of its variants share.
set -u
tests=$("$1" --test-dir "$2" -N | sed -n 's/^ *Test *#[0-9]*: //p')
rows=0 failures=0

while IFS= read -r row; do
    case $row in "| construct |"* | "|---"*) continue ;; esac
    rows=$((rows + 1))
    name=$(sed -n 's/.*| `\(\(e2e\|cuda\)\.[a-z0-9_.]*\)` |$/\1/p' <<<"$row")
    if [ -z "$name" ] || ! grep -qE "^${name//./\\.}(\..*)?$" <<<"$tests"; then
        echo "FAILED: no test '$name' for: $row"
        failures=$((failures + 1))
    fi
done < <(grep '^|' "$3")
[ $rows -gt 40 ] || { echo "FAILED: only $rows rows found in $3"; failures=1; }
[ $failures -eq 0 ] && echo "$rows rows: all right"
exit $((failures > 0))
