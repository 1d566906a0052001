#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Devices of unequal speed: what tasks take on each is learnt, so that a policy that gives tasks to devices in advance gives
# the faster one more, and the order of the devices does not matter. Results are right under every policy.
. "$(dirname "$0")/../common.sh"
cpu= # all tasks are for devices

# All tasks are ready at once, five times, and half of the first 64 are the slow device's before anything is known.
program=("$E2E_BENCH/gemm2d" --repeat 5 8 192)
plain 0 "${program[@]}"
for policy in dmda stationary auto; do
    for slow in 30/1 1/30; do
        fast=1
        [ $slow = 30/1 ] || fast=0
        for try in 1 2 3; do # a busy machine slows the fast one as well
            under 0 OMPDARTS_SCHED=$policy OMPDARTS_DEVICES=2 OMPDARTS_BACKEND=omptarget:slow=$slow "${program[@]}"
            same_checksum
            stats "stats.tasks == 320"
            [ $policy = dmda ] && [ "$(value "stats.devices[$fast].tasks")" -le $((320 * 4 / 5)) ] || break
        done
        [ $policy != dmda ] || stats "stats.devices[$fast].tasks > 320 * 4 / 5"
    done
done

# Each device is slow at some kernels, which another run knows from its beginning. What is kept of other devices, or damaged, is
# not used.
program=("$E2E_BENCH/cholesky" --repeat 3 8 320)
plain 0 "${program[@]}"
export OMPDARTS_CACHE=1 XDG_CACHE_HOME=$work/cache OMPDARTS_DEVICES=2
apart=omptarget:slow=gemm:20/1,slow=trsm:1/20,slow=syrk:1/20

# runs_there KERNEL DEVICE LESS_THAN: of all its tasks, percent
runs_there() {
    python3 - "$work/trace.json" "$@" <<'END' || fail "$ran: device $2 has too many tasks of $1"
import json, sys
path, kernel, device, percent = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
with open(path, encoding="utf-8") as file:
    events = json.load(file)
name = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
places = [name[e["pid"]] for e in events if e["ph"] == "X" and e["cat"] == "task" and kernel in e["name"]]
print(kernel, places.count("device " + device), "of", len(places), "on device", device)
sys.exit(not places or places.count("device " + device) * 100 >= percent * len(places))
END
}

for policy in dmda stationary auto; do
    rm -rf "$work/cache"
    for run in 1 2; do
        under 0 OMPDARTS_SCHED=$policy OMPDARTS_BACKEND=$apart OMPDARTS_TRACE="$work/trace.json" "${program[@]}"
        same_checksum
    done
    [ $policy != dmda ] || runs_there task_gemm 0 40
    "$E2E_COMMAND" history show >"$work/shown" || fail "history show: exit code $?"
    grep -q "cholesky+0x[0-9a-f]*: device 0 of 2 devices of omptarget" "$work/shown" || fail "history: $(cat "$work/shown")"
done
file=$(find "$work/cache/ompdarts" -type f ! -name '*.lock')
for slowness in nan -1 0.5 1e300; do
    sed -Ei "s/^(0 1 )[^ ]+( .* slowness of )/\1$slowness\2/" "$file"
    under 0 OMPDARTS_SCHED=dmda OMPDARTS_BACKEND=$apart "${program[@]}"
    same_checksum
done
under 0 OMPDARTS_SCHED=dmda OMPDARTS_BACKEND=omptarget:slow=1/2 "${program[@]}"
same_checksum
finish
