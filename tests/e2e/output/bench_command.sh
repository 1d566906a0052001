#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: bench_command.sh
#
# `ompdarts bench` on small problems: table, JSON and reports say the same and agree with the statistics; what is refused.
. "$(dirname "$0")/../common.sh"
[ -z "$sanitizer" ] || { echo "skipped: the command preloads the library, and a sanitizer must come first"; exit 77; }
cd "$work" || exit 1

"$E2E_COMMAND" bench -n 8 -t 32 -r 2 --devices 2 -o results cholesky lu gemm2d gemm3d >table 2>err || fail "bench: $(cat err)"
[ "$(grep -c '^bench: ' err)" -eq 48 ] || fail "bench: not a line per run, but $(cat err)"
python3 - <<'CODE' || fail "bench: the results disagree"
import json, re, statistics

kernels = json.load(open("results/results.json", encoding="utf-8"))["kernels"]
assert [k["kernel"] for k in kernels] == ["cholesky", "lu", "gemm2d", "gemm3d"]
tiles = [36, 64, 64, 192]
blocks = open("table", encoding="utf-8").read().strip().split("\n\n")
for kernel, count, block in zip(kernels, tiles, blocks, strict=True):
    assert kernel["data_bytes"] == count * 32 * 32 * 4 and kernel["memory_bytes"] == kernel["data_bytes"] // 4, kernel
    plain, *scheduled = kernel["runs"]
    assert [(r["policy"], r["eviction"]) for r in scheduled] == [("eager", "lru"), ("dmdar", "lru"), ("darts", "luf")]
    assert plain["policy"] == "none" and "tasks" not in plain and "eviction" not in plain, plain
    assert len(plain["seconds"]) == 2 and plain["gflops"] > 0 and plain["residual"] < 1e-5, plain
    first, *rows = block.split("\n")[2:]
    assert first.split()[0] == "none" and first.split()[2] == "1.00" and first.split()[4:] == ["-"] * 8, first
    page = json.loads(re.search(r'<script[^>]*id="runs"[^>]*>(.*?)</script>', open(f"results/{kernel['kernel']}.html", encoding="utf-8").read(), re.S)[1])
    assert len(page) == 3
    for n, (run, row) in enumerate(zip(scheduled, rows, strict=True)):
        name = f"{run['policy']}+{run['eviction']}"
        cells = row.split()
        stats = json.load(open(f"results/{kernel['kernel']}-{n + 2}-{name}.stats.json", encoding="utf-8"))
        totals = stats["totals"]
        assert cells[0] == name and len(run["seconds"]) == 2
        assert abs(run["median_s"] / statistics.median(run["seconds"]) - 1) < 1e-9
        assert abs(float(cells[2]) - kernel["runs"][0]["median_s"] / run["median_s"]) < .006, row
        assert abs(float(cells[3]) - run["gflops"]) < .006 and run["tasks"] == stats["tasks"] and run["host_tasks"] == stats["host_tasks"] == 0
        for cell, member in zip(cells[4:7], ("h2d_bytes", "d2h_bytes", "d2d_bytes")):
            assert abs(float(cell) - totals[member] / 1e6) < .06, row
        assert abs(float(cells[10]) - 100 * run["stalled"]) < .06 and 0 <= run["stalled"] < 1, row
        for member in ("h2d_bytes", "d2h_bytes", "d2d_bytes", "loads", "reloads", "evictions"):
            assert run[member] == totals[member], (member, run, totals)
        assert [int(cell) for cell in cells[7:10]] == [totals[name] for name in ("loads", "reloads", "evictions")], row
        assert stats["policy"] == run["policy"] and stats["eviction"] == run["eviction"]
        assert totals["limit_bytes"] == kernel["memory_bytes"] and len(stats["devices"]) == 2
        assert page[n]["figures"]["tasks"] == stats["tasks"] > 0 and page[n]["policy"] == run["policy"]
        assert run["checksum"] == kernel["runs"][0]["checksum"] and 0 < run["residual"] < 1e-5
CODE
# Only without the library: no trace, no page.
"$E2E_COMMAND" bench -s none -n 4 -t 16 -r 1 -o plain lu >table 2>err || fail "bench -s none: $(cat err)"
[ "$(ls plain)" = results.json ] || fail "bench -s none: $(ls plain)"

# Into the same folder: nothing of what was there passes for new.
OMPDARTS_DISABLE=1 "$E2E_COMMAND" bench -n 4 -t 16 -r 1 -o results cholesky >table 2>err && fail "bench of a disabled library"
grep -q "no statistics: the program was not scheduled" err || fail "bench of a disabled library: $(cat err)"
# Tasks that fit on no device.
"$E2E_COMMAND" bench -n 3 -t 32 -r 1 -s darts -o small gemm2d >table 2>err || fail "bench: $(cat err)"
grep -q "gemm2d under darts: 9 of 9 tasks ran on the host: too little memory (--mem)" err || fail "bench: $(cat err)"
grep -q '^darts .* 9$' table || fail "bench: $(cat table)"

# A policy with options; style, precision, memory in bytes.
"$E2E_COMMAND" bench -s darts:alg9,opti+luf -s lws -n 6 -t 32 -r 1 --mem 100K --style region --type double -o more gemm2d >table 2>err ||
    fail "bench: $(cat err)"
grep -q '^darts:alg9,opti+luf .* 1.00 ' table || fail "bench: $(cat table)"
grep -q '6 x 6 tiles of 32 x 32 doubles, 0.4 MB of data, 0.1 MB on each device' table || fail "bench: $(cat table)"
[ -e more/gemm2d-1-darts_alg9_opti+luf.trace.json ] || fail "bench: $(ls more)"

# refuses CODE TEXT ARGUMENT…
refuses() {
    local code=$1 text=$2 status
    shift 2
    "$E2E_COMMAND" bench -n 4 -t 16 -r 1 "$@" >out 2>err
    status=$?
    [ $status -eq "$code" ] || fail "bench $*: exit code $status, not $code"
    grep -qF -- "$text" err || fail "bench $*: no '$text' in $(cat err)"
}
refuses 2 "unknown kernel 'cholsky', did you mean 'cholesky'?" cholsky
refuses 2 "--sched=dart: unknown name; allowed: ap, auto, darts, " -s dart
refuses 2 "; did you mean darts?" --sched=dart
refuses 2 "--sched=darts+lur: unknown name; allowed: auto, belady, lru, luf; did you mean lru?" -s darts+lur
refuses 2 "--sched=darts:first: 'first' is no option, did you mean 'alg9'?" -s darts:first
refuses 2 "unknown option '--policy', write '--sched=POLICY'" --policy=darts
refuses 2 "unknown option '--link-bandwidth', write '--backend=omptarget:link=RATE'" --link-bandwidth=1G
refuses 1 "--backend=hip: not a valid value; allowed: auto, cuda, cuda:pin=SIZE,loads=N,keep,managed, mpi, mpi:silence=SECONDS, omptarget" --backend=hip
refuses 2 "unknown option '--stlye', did you mean '--style'?" --stlye=x
refuses 2 "option '--tile' needs a value" --tile
refuses 2 "--tile=0: not a valid value; allowed: a whole number from 1 to" --tile=0
refuses 2 "--mem=0%: not a valid value; allowed: a size > 0" --mem=0%
refuses 2 "--style=x: not a valid value; allowed: task|region|blas" --style=x
refuses 2 "/dev/null/x: Not a directory" -o /dev/null/x
refuses 1 "exit status 2" --devices 100000
mkdir -p taken/results.json
refuses 1 "results.json: Is a directory" -o taken
finish
