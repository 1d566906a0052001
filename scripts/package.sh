#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: scripts/package.sh [--try]
#
# Builds the Debian package into build-package/packages/. --try: also makes a fresh Debian 12 in a temporary folder, installs LLVM
# there and nothing else, then the package, and does what a new user does (tests/package/user_path.sh). That needs
# root, mmdebstrap (installed where it is missing) and 3 GB for a while; the packages come from where apt gets them here.
set -euo pipefail
cd "$(dirname "$0")/.."

if (($# > 1)) || [[ ${1---try} != --try ]]; then
    sed -n '4,8s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi

tools=(dpkg-dev)
(($#)) && tools+=(mmdebstrap)
scripts/install-deps.sh "${tools[@]}"
cmake -G Ninja -S . -B build-package -DBUILD_TESTING=OFF
cmake --build build-package
rm -f build-package/packages/*.deb
(cd build-package && cpack -G DEB)
package=$(echo "$PWD"/build-package/packages/ompdarts_*.deb)
echo "package: $package"
(($#)) || exit 0

((EUID == 0)) || { echo "package: --try needs root" >&2; exit 1; }
sources=/etc/apt/sources.list.d/debian.sources
[[ -e $sources ]] || sources=/etc/apt/sources.list
place=$(mktemp -d)
debian=$place/debian
chmod 755 "$place"
clean_up()
{
    umount "$debian/proc" 2>/dev/null || true
    rm -rf --one-file-system "$place"
}
trap clean_up EXIT

echo "package: making a Debian 12 with LLVM 19 alone"
apt-config dump | grep '^Acquire::' >"$place/apt.conf"
mmdebstrap --quiet --variant=minbase --aptopt="$place/apt.conf" \
    --include=clang-19,clang-tools-19,llvm-19,lld-19,libomp-19-dev bookworm "$debian" "$sources"
[[ -d $debian/proc/self ]] || mount -t proc proc "$debian/proc"
cp "$package" tests/package/{user_path,guide}.sh docs/guide.md "$debian/tmp/"
echo "package: installing ompdarts there"
chroot "$debian" apt-get -q update
chroot "$debian" apt-get -q install --yes --no-install-recommends "/tmp/${package##*/}"
chroot "$debian" env USER_PATH_KEEP=/tmp LC_ALL=C.UTF-8 /tmp/user_path.sh /usr /tmp/guide.md
cp "$debian/tmp/blocks.html" "$place/report.html"
status=0
tests/e2e/checks/browse.sh "$place/report.html" 1200 || status=$?
case $status in
    0) echo "package: its report opens in a browser" ;;
    77) ;;
    *) exit 1 ;;
esac
echo "package: removing it"
chroot "$debian" apt-get -q purge --yes ompdarts
left=$(find "$debian/usr" "$debian/etc" -path '*ompdarts*')
[[ -z $left ]] || { echo "package: left behind: $left" >&2; exit 1; }
echo "package: all right"
