#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: browse.sh PAGE WIDTH [OPTION…]
#
# Opens a report in headless Chromium, WIDTH pixels wide, with further OPTIONs, and uses it as report_page.js says. Exit codes: 0
# right, 1 wrong, 77 no Chromium.
set -u
page=$1 width=$2
shift 2
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "no Chromium here: the page is not tried"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

{ sed '/<\/body>/,$d' "$page"; echo "<script>"; cat "$(dirname "$0")/report_page.js"; echo "</script></body></html>"; } >"$work/tested.html"
HOME=$work timeout 240 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --window-size="$width",900 \
    --enable-logging=stderr --virtual-time-budget=5000 "$@" --dump-dom "file://$work/tested.html" >"$work/dom" 2>"$work/console"
if ! grep -q 'data-test="all right"' "$work/dom"; then
    echo "$page: $(grep -o 'data-test="[^"]*"' "$work/dom" || tail -n 3 "$work/console")"
    exit 1
fi
if grep -E 'CONSOLE.*(Error|error|warn)' "$work/console"; then
    echo "$page: the console has something to say"
    exit 1
fi
