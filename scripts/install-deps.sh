#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: scripts/install-deps.sh [--replace] [PACKAGE…]
#
# Installs with apt-get what Debian 12 or Ubuntu 24.04 (with universe, noble-updates) needs to build, test and show
# ompdarts, and the packages named as arguments, but for those that the system does not have (Ubuntu's chromium is a
# snap). Only missing packages are installed; nothing is removed. libomp-19-dev excludes every other libomp-*-dev: where there is
# another one, LLVM 19 with its runtimes is unpacked into build/llvm-19 instead, where cmake finds it. With --replace
# the other one is removed. Needs root, or sudo.
set -euo pipefail

cd "$(dirname "$0")/.."
case ${1-} in
    -h | --help) sed -n '4,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --replace) removal=(); shift ;;
    -*) echo "install-deps: unknown option $1 (known: --replace, --help)" >&2; exit 2 ;;
    *) removal=(--no-remove) ;;
esac

packages=(
    clang-19 clang-tools-19 llvm-19 lld-19 libomp-19-dev # compiler and runtimes of offload programs
    cmake ninja-build gcc libc6-dev pkg-config
    libcjson-dev libhwloc-dev libcmocka-dev libopenblas-dev liblapacke-dev
    libmetis5 # policy hypergraph
    libsimgrid-dev # the simulator
    libglpk-dev # tests compare maximum cuts with a linear program's
    python3 python3-matplotlib valgrind # matplotlib: the figures
    locales # a test builds one with a decimal comma
    git xz-utils # the patches for LLVM, and its sources
)
optional=("$@")

if ! command -v apt-get >/dev/null; then
    echo "install-deps: no apt-get here; going on with what is installed. Needed are Debian's: ${packages[*]}" >&2
    exit 0
fi

is_installed()
{
    [[ $(dpkg-query --show --showformat='${Status}' "$1" 2>/dev/null || true) == "install ok installed" ]]
}

# The installed libomp-*-dev that libomp-19-dev would replace.
other_libomp()
{
    { dpkg-query --show --showformat='${Package} ${Status}\n' 'libomp*-dev' 2>/dev/null || true; } | # it knows none yet
        sed -n '/^libomp-19-dev /d; s/ install ok installed$//p'
}

runtime=installed
other=$(other_libomp)
if [[ -n $other ]] && ((${#removal[@]})); then
    echo "install-deps: ${other//$'\n'/, } excludes libomp-19-dev and stays: LLVM 19 is unpacked into build/llvm-19 instead"
    runtime=unpacked
fi

unpack_runtime()
{
    [[ $runtime == installed ]] || scripts/fetch-llvm.sh 19 build/llvm-19
}

missing=()
for package in "${packages[@]}" "${optional[@]}"; do
    [[ $package == libomp-19-dev && $runtime == unpacked ]] || is_installed "$package" || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
    echo "install-deps: all packages are installed"
    unpack_runtime
    exit 0
fi
echo "install-deps: installing ${missing[*]}"

as_root=()
if ((EUID != 0)); then
    command -v sudo >/dev/null || { echo "install-deps: run as root, or install sudo" >&2; exit 1; }
    as_root=(sudo)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Reads apt's status lines (kind:package:percent:text) and prints every tenth percent.
show_progress()
{
    local kind percent last=""
    while IFS=: read -r kind _ percent _; do
        case $kind in
            dlstatus) kind=downloading ;;
            pmstatus) kind=installing ;;
            *) continue ;;
        esac
        percent=${percent%%[.,]*}
        percent=$((percent / 10 * 10))
        if [[ "$kind $percent" != "$last" ]]; then
            last="$kind $percent"
            echo "install-deps: $kind $percent%"
        fi
    done
}

# Descriptor 3 is opened behind sudo, which closes it.
apt()
{
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \
        sh -c 'exec apt-get -q -o APT::Status-Fd=3 "$@" 3>&1 >&2' apt "$@" 2>>"$log" | show_progress
}

failed()
{
    tail -n 20 "$log" >&2
    echo "install-deps: apt-get failed. Debian 12 has all these packages; so has Ubuntu 24.04 (universe," \
        "noble-updates)." >&2
    exit 1
}

# Of the missing packages those that can be had; of the needed ones apt itself says what is wrong.
had=()
leave_out_unknown()
{
    local package policy
    for package in "${missing[@]}"; do
        policy=$(LC_ALL=C apt-cache policy "$package")
        if [[ " ${optional[*]} " == *" $package "* && ! $policy =~ Candidate:\ [^\(] ]]; then
            echo "install-deps: this system has no package $package: what needs it is left out"
        else
            had+=("$package")
        fi
    done
}

echo "install-deps: reading the package lists"
apt update >/dev/null || failed
leave_out_unknown
if ((${#had[@]})); then
    apt install --yes --no-install-recommends "${removal[@]}" "${had[@]}" || failed
fi
unpack_runtime
echo "install-deps: done"
