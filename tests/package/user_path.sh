#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: user_path.sh PREFIX GUIDE
#
# What a new user does with ompdarts installed under PREFIX: all that docs/guide.md shows (guide.sh), in an empty folder; then its
# manual, completion, simulator and benchmark; the header, the library from pkg-config and CMake (skipped where these are not
# there); a policy of one's own. Nothing of the sources is used but GUIDE. Exit codes: 0 right, 1 wrong.
set -u
prefix=$(realpath "$1") guide=$(realpath "$2") self=$(realpath "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
export PATH=$prefix/bin:$PATH OMPDARTS_CACHE=0 OMPDARTS_DEBUG=watchdog=60
export LIBOMP_NUM_HIDDEN_HELPER_THREADS=0 # plain runs: stock libomp 19 fails with them now and then
export PYTHONDONTWRITEBYTECODE=1 # what is installed stays as it was

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# step WHAT COMMAND… : its output goes to $work/out
step() {
    local what=$1
    shift
    echo "-- $what"
    timeout 300 "$@" >out 2>&1 || fail "$what: exit code $?: $(head -c 3000 out)"
}

has() { grep -qE -- "$1" "${2-out}" || fail "no '$1' in: $(head -c 2000 "${2-out}")"; }

# --- the guide -----------------------------------------------------------------------------------
"$(dirname "$self")/guide.sh" "$guide" || failures=$((failures + 1))
sum=$(./blocks) || fail "the guide's program"
[ "$(wc -l <blocks.c)" -ge 30 ] && [ "$(wc -l <blocks.c)" -le 45 ] || fail "the guide's program has $(wc -l <blocks.c) lines"
has 'auto \+ luf' <(ompdarts report auto.json)
has 'blocks.c:[0-9]+' auto.json # -g: source lines
for page in blocks.html; do
    has '^</html>' "$page"
    has '"policy":"eager"' "$page"
    has '"policy":"auto"' "$page"
done
[ -z "${USER_PATH_KEEP-}" ] || cp blocks.html "$USER_PATH_KEEP"

# --- what else was installed ------------------------------------------------------------------------
step "ompdarts info" ompdarts info
has "library      $prefix/"
has '^  darts  '
step "a typo" bash -c '! ompdarts run --shed=darts ./blocks'
has "did you mean '--sched'"
ompdarts sim --help >/dev/null 2>&1 && step "ompdarts sim" ompdarts sim --quiet --workload cholesky:n=8 --platform pcie --devices 2 --mem 200Mi
if command -v python3 >/dev/null && [ -x "$prefix/libexec/ompdarts/ompdarts-sim" ]; then
    step "figures.py" python3 "$prefix/share/ompdarts/figures/figures.py" --out figures order
    [ -n "$(ls figures)" ] || fail "figures.py left nothing"
fi
step "ompdarts bench" env -u LD_LIBRARY_PATH ompdarts bench -n 6 -t 48 -r 1 cholesky
has '^darts\+luf '
[ -s ompdarts-bench/cholesky.html ] || fail "bench left no report"
for page in man1/ompdarts.1 man7/ompdarts.7 man3/ompdarts.h.3; do
    [ -s "$prefix/share/man/$page" ] || [ -s "$prefix/share/man/$page.gz" ] || fail "no manual page $page"
done
step "bash completion" bash -c "source $prefix/share/bash-completion/completions/ompdarts
    COMP_WORDS=(ompdarts run --sched = dar) COMP_CWORD=4; _ompdarts ompdarts; echo \"\${COMPREPLY[@]}\""
has '^darts$'
# Nothing of where it was built (but for source lines of tasks in the benchmark's programs).
command -v strings >/dev/null || fail "no strings"
installed=$(find "$prefix" -type f -path '*ompdarts*' ! -name '*.md' ! -path '*/libexec/ompdarts/[cgl]*')
[ -n "$installed" ] || fail "nothing is installed"
for file in $installed; do
    ! strings "$file" | grep -E '^[^ ]*/(home|root|tmp|work|build)/[a-z]' || fail "$file names the place where it was built"
done

# --- for programs that link it -----------------------------------------------------------------------
cat >ask.c <<'CODE'
#include <ompdarts.h>
#include <stdio.h>
int main(void)
{
    int x = 1;
#pragma omp target map(tofrom: x)
    x++;
    printf("x %d, %s\n", x, ompdarts_ndevices() > 0 ? "scheduled" : "alone");
}
CODE
clang=(clang-19 -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu -Wl,-rpath,/usr/lib/llvm-19/lib)
step "a program with the header, without the library" "${clang[@]}" -I"$prefix/include" ask.c -o ask
step ./ask ./ask
has '^x 2, alone$'
library=$(find "$prefix" -name libompdarts.so | head -n 1)
step "soname" readelf -d "$library"
has 'SONAME.*\[libompdarts\.so\.0\]'
if command -v pkg-config >/dev/null; then
    pc=$(dirname "$(find "$prefix" -name ompdarts.pc)")
    step "pkg-config" env PKG_CONFIG_PATH="$pc" pkg-config --cflags --libs ompdarts
    # shellcheck disable=SC2046 # words
    step "a program that links it" "${clang[@]}" ask.c -o linked $(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs ompdarts) \
        -Wl,-rpath,"$(dirname "$library")" -fno-lto
    step ./linked ./linked
    has '^x 2, scheduled$'
else
    echo "no pkg-config here"
fi
if command -v cmake >/dev/null; then
    cat >CMakeLists.txt <<'CODE'
cmake_minimum_required(VERSION 3.20)
project(ask LANGUAGES C)
find_package(ompdarts 0.1 REQUIRED)
add_executable(ask ask.c)
target_compile_options(ask PRIVATE -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu)
target_link_libraries(ask PRIVATE ompdarts::ompdarts)
target_link_options(ask PRIVATE -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu -Wl,-rpath,/usr/lib/llvm-19/lib)
add_library(nearest MODULE nearest.c)
target_link_libraries(nearest PRIVATE ompdarts::policy)
CODE
    cp "$prefix"/share/doc/ompdarts/examples/policy/nearest.c . || fail "no example of a policy"
    step "find_package" cmake -S . -B cmake-build -DCMAKE_C_COMPILER=clang-19 -DCMAKE_PREFIX_PATH="$prefix"
    step "cmake --build" cmake --build cmake-build
    step "the program" cmake-build/ask
    has '^x 2, scheduled$'
    step "a policy of one's own" ompdarts run --sched "plugin:$work/cmake-build/libnearest.so" --mem 4M ./blocks
    has "^$sum\$"
else
    echo "no cmake here"
fi

[ $failures -eq 0 ] && echo "all right"
exit $((failures > 0))
