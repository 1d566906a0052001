#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: guide.sh GUIDE [COMMAND_FOLDER [LLVM_ROOT]]
#
# What docs/guide.md shows is so: its files are written into the current folder, its commands run there in their order, and what
# they print is compared. A line of the guide must come as it stands, but for figures, which vary (a sum does not); "..." is
# any lines. With COMMAND_FOLDER by the `ompdarts` that is there, in a temporary folder. With LLVM_ROOT by the LLVM 19 in that
# folder. Exit codes: 0 right, 1 wrong, 77 skipped.
set -u
guide=$(realpath "$1")
failures=0
llvm=${3-/usr/lib/llvm-19}
[ -x "$llvm/bin/clang" ] && [ -e "$llvm/lib/libomp.so" ] || { echo "skipped: no clang and libomp in $llvm"; exit 77; }
if (($# > 1)); then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    unset LD_PRELOAD "${!OMPDARTS_@}"
    export PATH=$2:$PATH OMPDARTS_CACHE=0 OMPDARTS_DEBUG=watchdog=60
    export LIBOMP_NUM_HIDDEN_HELPER_THREADS=0 # plain runs: stock libomp 19 fails with them now and then
    cd "$work" || exit 1
fi
export XDG_CACHE_HOME=$PWD/cache

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# 81% is a span, too; on a busy machine a finding may be about fewer devices.
masked() {
    sed -E '/^sum /!s/[0-9]+([.][0-9]+)?/0/g; s/0 to 0%/0%/g; s/^- (all 0 devices|device 0((, | and )device 0)*) /- devices /
            s/ +/ /g; s/ $//'
}

# The command's output, and the lines of `expected`.
compare() {
    local got wanted at=0 skips=false line
    mapfile -t got < <(masked <out)
    mapfile -t wanted < <(((${#expected[@]})) && printf '%s\n' "${expected[@]}" | masked)
    for line in "${wanted[@]}"; do
        [[ $line == ... ]] && { skips=true; continue; }
        while $skips && ((at < ${#got[@]})) && [[ ${got[at]} != "$line" ]]; do
            at=$((at + 1))
        done
        if ((at == ${#got[@]})) || [[ ${got[at]} != "$line" ]]; then
            fail "$command: no '$line' in: $(head -c 4000 out)"
            return
        fi
        at=$((at + 1)) skips=false
    done
    $skips || ((at == ${#got[@]})) || fail "$command: more than the guide shows: $(head -c 4000 out)"
}

command="" commands=0 expected=() compared=()
run_command() {
    [ -n "$command" ] || return
    commands=$((commands + 1))
    echo "-- $command"
    [[ $command == *"--trace "@(darts|eager)".json"* ]] && compared+=("$command")
    timeout 300 bash -c "$command" >out 2>&1 </dev/null || fail "$command: exit code $?"
    compare
    command="" expected=()
}

# GUIDE_UNTIL: the section before which to stop
state=text text="" file=/dev/null least=20
while IFS= read -r line; do
    if [[ $line == "## ${GUIDE_UNTIL-}" ]]; then
        least=5
        break
    fi
    case $state:$line in
        'text:```console') state=console ;;
        'text:```'*)
            state=file file=/dev/null
            [[ $text =~ \`([a-z]+\.[a-z]+)\`:$ ]] && file=${BASH_REMATCH[1]} && : >"$file" ;;
        *:'```')
            run_command
            state=text ;;
        'console:$ '*)
            run_command
            command=${line#'$ '}
            command=${command//\/usr\/lib\/llvm-19/$llvm}
            command=${command//clang-19/$llvm/bin/clang} ;;
        console:*) expected+=("$line") ;;
        file:*) printf '%s\n' "$line" >>"$file" ;;
        text:?*) text=$line ;;
    esac
done <"$guide"

[ "$commands" -ge $least ] || fail "the guide has only $commands commands"
# The first comparison shows a gain; how much, and sometimes whether, depends on what else the machine does.
moved() { ompdarts report "$1" | sed -n 's/^- \([0-9.]*\) MB were loaded,.*/\1/p'; }
gains() { awk "BEGIN { exit !($(moved auto.json) < $(moved eager.json)) }"; }
for ((tries = 0; tries < 4; tries++)); do
    gains && break
    echo "no gain, tried again: $(moved auto.json) MB, $(moved eager.json) MB"
    for command in "${compared[@]}"; do
        timeout 300 bash -c "$command" >/dev/null 2>&1 </dev/null
    done
done
gains || fail "auto: $(moved auto.json) MB, eager: $(moved eager.json) MB"
[ $failures -eq 0 ] && echo "all right"
exit $((failures > 0))
