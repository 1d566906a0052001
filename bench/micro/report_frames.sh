#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: report_frames.sh PAGE [WIDTH [HEIGHT]]
#
# How smoothly a page of `ompdarts report` zooms, moves and scrolls: opens it in headless Chromium, in real time, and prints what
# report_frames.js measures, in milliseconds.
set -u
page=$1 width=${2:-1900} height=${3:-1000}
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "no Chromium here" >&2; exit 77; }
work=$(mktemp -d)
{ sed '/<\/body>/,$d' "$page"; echo "<script>"; cat "$(dirname "$0")/report_frames.js"; echo "</script></body></html>"; } >"$work/measured.html"
# Nothing in the command line ends it: it is ended when all has been measured.
HOME=$work "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --window-size="$width,$height" \
    --remote-debugging-port=0 --enable-logging=stderr "file://$work/measured.html" >/dev/null 2>"$work/console" &
pid=$!
trap 'kill $pid 2>/dev/null; wait $pid 2>/dev/null; rm -rf "$work"' EXIT
for ((second = 0; second < 180; second++)); do
    grep -q 'FRAMES end' "$work/console" && break
    sleep 1
done
grep -o 'FRAMES [^"]*' "$work/console" | grep -v 'FRAMES end' | cut -d' ' -f2-
grep -q 'FRAMES end' "$work/console" || { echo "not all was measured" >&2; exit 1; }
