#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: bench/gpu/pack.sh BUILD [FILE.tar.xz | FILE.tar]      (default: ompdarts-gpu.tar.xz)
#
# Packs what the GPU benchmark needs on a machine that has nothing but NVIDIA's driver, cuBLAS and Python: the programs of
# the build folder BUILD (configured with -DOMPDARTS_NVPTX_ARCH=sm_90 or the like), the library, and all shared libraries
# that they are linked with, LLVM's among them. Unpack it there and run ompdarts-gpu/gpu-check.sh (docs/gpu.md).
set -euo pipefail
source_dir=$(cd "$(dirname "$0")" && pwd)

if (($# < 1 || $# > 2)) || [[ $1 == -* ]]; then
    sed -n '4,9s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
build=$1
output=${2:-ompdarts-gpu.tar.xz}

staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
root=$staging/ompdarts-gpu
mkdir -p "$root/bin" "$root/lib" "$root/glibc"

# add FOLDER NAME FILE: a copy without debugging information
add()
{
    cp -L "$3" "$root/$1/$2"
    chmod u+w "$root/$1/$2"
    strip --strip-debug "$root/$1/$2"
}

for program in gemm3d cholesky; do
    if [[ ! -x $build/bench/$program-nvptx ]]; then
        echo "pack.sh: $build/bench/$program-nvptx is not there: configure with -DOMPDARTS_NVPTX_ARCH=… and build" >&2
        exit 2
    fi
    add bin $program "$build/bench/$program-nvptx"
done
for program in tiles reductions peers; do # of gpu-check.sh
    [[ ! -x $build/bench/$program-nvptx ]] || add bin $program "$build/bench/$program-nvptx"
done
add bin gpu_peers "$build/bench/gpu_peers"
add bin ompdarts "$build/ompdarts"
# The command looks for the library beside itself, and the library for its back-ends.
add bin libompdarts.so "$build/libompdarts.so"
if [[ -e $build/libompdarts-cuda.so ]]; then
    add bin libompdarts-cuda.so "$build/libompdarts-cuda.so"
fi

# glibc only where the other machine's is older; the rest always, since the versions must fit each other.
while read -r name file; do
    case $name in
        libompdarts*) ;;
        ld-linux*|libc.so.*|libm.so.*|libdl.so.*|librt.so.*|libpthread.so.*|libresolv.so.*|libutil.so.*)
            cp -L "$file" "$root/glibc/$name" ;;
        *) add lib "$name" "$file" ;;
    esac
done < <(for file in "$build"/bench/{gemm3d,cholesky}-nvptx "$build"/{bench/gpu_peers,ompdarts,libompdarts*.so}; do
    ldd "$file"
done | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 } $1 ~ /^\/.*ld-linux/ { n = split($1, part, "/"); print part[n], $1 }' |
    sort -u)

# NVIDIA's libraries ask for the parts that newer ones have in libc.so.
for name in libdl.so.2 libpthread.so.0 librt.so.1 libresolv.so.2 libutil.so.1; do
    file=$(dirname "$(ldd "$build/ompdarts" | awk '$1 == "libc.so.6" { print $3 }')")/$name
    [[ ! -e $file ]] || cp -L "$file" "$root/glibc/$name"
done

cp "$source_dir/run.py" "$source_dir/report.py" "$source_dir/libraries.py" \
    "$source_dir/../../scripts/gpu-check.sh" "$root/"
cp "$source_dir/../../LICENSE" "$root/"
{
    echo "commit $(git -C "$source_dir" rev-parse --short HEAD 2>/dev/null || echo unknown)"
    echo "packed $(date -u +%Y-%m-%d)"
} >"$root/VERSION"
compress=(xz -T0 -6)
[[ $output != *.tar ]] || compress=(cat)
tar -C "$staging" --sort=name --owner=0 --group=0 --numeric-owner -c ompdarts-gpu | "${compress[@]}" >"$output"
echo "$output: $(($(stat -c %s "$output") / 1000000)) MB, unpacked $(($(du -sb "$root" | cut -f1) / 1000000)) MB"
