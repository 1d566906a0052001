#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs linked with libraries that bring device code in their constructors, and offload there: those run before the
# constructors of a preloaded library. With device code of the program's own and without; ompdarts preloaded, linked first, and off.
. "$(dirname "$0")/../common.sh"
flags=(-std=gnu17 -O2 -fPIC "-L$work" "-Wl,-rpath,$work" "-L$E2E_LLVM_LIBDIR" "-Wl,-rpath,$E2E_LLVM_LIBDIR")
offload=(-fopenmp "-fopenmp-targets=$E2E_TRIPLE")

# build NAME ARGUMENT…
build() {
    "$E2E_CLANG" "${flags[@]}" "${@:2}" -o "$work/$1" 2>"$work/err" && return
    fail "$1 was not built: $(cat "$work/err")"
    finish
}

build libscale.so "${offload[@]}" -shared -DFACTOR=2 "$sources/libraries/scale.c"
build libearly.so -shared "$sources/libraries/early.c" -lscale
program=$sources/programs/linked_library.c
build plain_program -Wno-unknown-pragmas "$program" -learly -lscale
build offloading_program "${offload[@]}" "$program" -learly -lscale

for name in plain_program offloading_program; do
    plain 0 "$work/$name"
    grep -qx right "$work/plain" || fail "wrong without the library: $name"
    for settings in OMPDARTS_DEBUG=check "OMPDARTS_COHERENCE=strict OMPDARTS_SCHED=eager" OMPDARTS_SCHED=stationary; do
        under 0 $settings "$work/$name"
        same_output
        stats "stats.tasks >= 72"
    done
    under 0 OMPDARTS_DISABLE=1 "$work/$name"
    same_output
    under 2 OMPDARTS_SCHED=no_such_policy "$work/$name"
    says "unknown name; allowed: ap"
done

if [ -z "$sanitizer" ]; then
    folder=$(dirname "$E2E_LIBRARY")
    build linked_first "${offload[@]}" "$program" "-Wl,-rpath,$folder" "-L$folder" -Wl,--no-as-needed -lompdarts -learly -lscale
    plain 0 OMPDARTS_STATS="$work/stats" "$work/linked_first"
    grep -qx right "$work/plain" || fail "wrong when linked first"
    ran="linked first" stats "stats.tasks >= 84"
    # With other rights than its caller's: neither plug-ins nor files that the environment names.
    # The owner must be able to read the libraries: not in root's home.
    if [ "$(id -u)" -eq 0 ] && setpriv --reuid=65534 --clear-groups test -r "$folder/libompdarts.so" -a -r "$E2E_LLVM_LIBDIR" &&
        chown 65534 "$work/linked_first" && chmod u+s "$work/linked_first" && chmod 755 "$work"; then
        rm "$work/stats"
        plain 0 OMPDARTS_SCHED="plugin:$E2E_PLUGIN" OMPDARTS_STATS="summary,$work/stats" "$work/linked_first"
        ran="setuid" says "with other rights than its caller's: all OMPDARTS_ variables are ignored"
        [ ! -e "$work/stats" ] || fail "a setuid program has written the file that OMPDARTS_STATS names"
        ! grep -q "scheduling" "$work/err" || fail "a setuid program has printed a summary: $(cat "$work/err")"
    fi
fi
finish
