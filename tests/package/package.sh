#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: package.sh BUILD_FOLDER SOURCE_FOLDER
#
# The Debian package, as CPack makes it: what it says of itself, what it holds; unpacked into a folder, it is used as
# user_path.sh says, and the report that came of it is looked at in a browser (where there is one).
set -u
build=$1 sources=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

for tool in dpkg-deb dpkg-shlibdeps file; do
    command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
(cd "$work" && cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work/made") >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
package=$(echo "$work"/made/ompdarts_*.deb)
[ -s "$package" ] || { cat "$work/log"; exit 1; }

llvm=$(sed -n 's/.*CPACK_DEBIAN_PACKAGE_RECOMMENDS "clang-\([0-9]*\).*/\1/p' "$build/CPackConfig.cmake")
dpkg-deb --info "$package" >"$work/info"
for text in '^ Package: ompdarts$' '^ Version: [0-9]+\.[0-9]+\.[0-9]+' "^ Depends: .*libomp5-$llvm " '^ Depends: .*libcjson1 ' \
    "^ Recommends: clang-$llvm" '^ Maintainer: .'; do
    grep -qE -- "$text" "$work/info" || fail "no '$text' in: $(cat "$work/info")"
done
if command -v lintian >/dev/null; then
    lintian --fail-on error,warning "$work"/made/*deb >"$work/lintian" 2>&1 || fail "lintian: $(cat "$work/lintian")"
fi
[ -s "$(echo "$work"/made/ompdarts-dbgsym_*)" ] || fail "no package with what debuggers need"
dpkg-deb --extract "$package" "$work/root"
[ -s "$work/root/usr/share/zsh/vendor-completions/_ompdarts" ] || fail "zsh's completion is not where Debian's zsh looks"
find "$work/root" -type f -perm /022 | grep . && fail "files that others may write"
find "$work/root" -type f | grep -vE '^.*/usr/(bin|include|lib|libexec|share)/' && fail "files in strange places"

# Hidden but for what the map names.
library=$(find "$work/root" -name 'libompdarts.so.*.*')
nm --dynamic --defined-only "$library" | awk '{ print $3 }' | sed 's/@.*//' | sort >"$work/shown"
sed -n '/global:/,/local:/s/^ *\([a-zA-Z_0-9*]*\);.*/\1/p' "$sources/omp_ext/hooks/libompdarts.map" | sed 's/\*/.*/; s/^/^/; s/$/$/' >"$work/map"
grep -vE -f "$work/map" "$work/shown" && fail "the library shows symbols that its map does not name"
[ "$(wc -l <"$work/shown")" -gt 30 ] || fail "the library shows next to nothing"

# The rest of the guide is the test docs.guide's.
GUIDE_UNTIL="My code is synchronous" USER_PATH_KEEP=$work "$sources/tests/package/user_path.sh" "$work/root/usr" "$sources/docs/guide.md" || failures=$((failures + 1))
"$sources/tests/e2e/checks/browse.sh" "$work/blocks.html" 1200
case $? in 0 | 77) ;; *) fail "the report in the browser" ;; esac

[ $failures -eq 0 ] && echo "all right"
exit $((failures > 0))
