#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: scripts/fetch-llvm.sh VERSION FOLDER
#
# Unpacks Debian's clang and OpenMP offload runtime of LLVM VERSION (16, 19 or 22) into FOLDER: for the tests with 16 and
# 22; 19 for all, where another libomp is installed. Its root is FOLDER/usr/lib/llvm-VERSION. Nothing is installed,
# because Debian's libomp packages exclude each other. What these packages depend on is there where clang-19 and llvm-19
# are installed. FOLDER is left alone if it is complete.
set -euo pipefail

[[ $# == 2 && $1 =~ ^(16|19|22)$ ]] || { sed -n '4,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
version=$1 folder=$(realpath -m "$2") # the trap runs in another one
packages=(clang-"$version" clang-tools-"$version" libclang-cpp"$version" libclang-common-"$version"-dev
    libllvm"$version" llvm-"$version" libomp-"$version"-dev)
case $version in
    16) packages+=(libomp5-16) ;;
    19) packages+=(libomp5-19 lld-19) ;;
    22) packages+=(liboffload-22 liboffload-22-dev) ;; # runs on libomp 19: Debian 12 has no other since
esac

if [[ -e $folder/complete ]]; then
    echo "fetch-llvm: LLVM $version is in $folder"
    exit 0
fi
for command in apt-get dpkg-deb; do
    command -v $command >/dev/null || { echo "fetch-llvm: no $command here: no LLVM $version" >&2; exit 1; }
done

# The folder appears under its name when all is in it.
rm -rf "$folder.part"
mkdir -p "$folder.part"
trap 'rm -rf "$folder.part"' EXIT
cd "$folder.part"

download()
{
    apt-get -q download "${packages[@]}" >log 2>&1
}

echo "fetch-llvm: downloading LLVM $version"
if ! download; then
    as_root=()
    ((EUID == 0)) || as_root=(sudo -n)
    "${as_root[@]}" apt-get -q update >/dev/null 2>&1 || true
    download || { tail -n 5 log >&2; echo "fetch-llvm: LLVM $version cannot be had" >&2; exit 1; }
fi
for archive in *.deb; do
    dpkg-deb --extract "$archive" .
    rm "$archive"
done
for library in usr/lib/*-linux-gnu*/libLLVM[-.]*; do # clang and libomptarget look for it beside them
    ln -s "../../${library#usr/lib/}" "usr/lib/llvm-$version/lib/"
done
touch complete
cd - >/dev/null
rm -rf "$folder"
mv "$folder.part" "$folder"
echo "fetch-llvm: LLVM $version is in $folder"
