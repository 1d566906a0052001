#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs whose device code no device here can run, and OMP_TARGET_OFFLOAD=disabled: everything runs on the host as without the
# library, which says so once; or target tasks run on CPU workers (OMPDARTS_CPU). With OMP_TARGET_OFFLOAD=mandatory such a program fails as it does without the library.
. "$(dirname "$0")/../common.sh"
cpu= # what is said without CPU workers
text="no device for this program's device code: its target regions run on the host"

# other_machine PROGRAM COPY : its device image, which is an ELF file inside it, becomes one of another processor
other_machine() {
    python3 - "$1" "$2" <<'CODE'
import shutil
import struct
import sys

shutil.copy(sys.argv[1], sys.argv[2])
with open(sys.argv[2], "r+b") as file:
    data = file.read()
    at = data.find(b"\x7fELF", 4)
    changed = 0
    while at >= 0:
        kind, machine = struct.unpack_from("<HH", data, at + 16)
        if kind == 3 and machine in (62, 183, 21):
            file.seek(at + 18)
            file.write(struct.pack("<H", 8))  # MIPS
            changed += 1
        at = data.find(b"\x7fELF", at + 4)
sys.exit(changed == 0)
CODE
}

# on_host PROGRAM : right, on the host, told once
on_host() {
    plain 0 "$1"
    grep -q "devices 0" "$work/plain" || fail "$1 has a device"
    under 0 "$1"
    same_output
    says "$text"
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "$ran: more than one line: $(cat "$work/err")"
    [ ! -e "$work/stats" ] || fail "$ran: statistics of nothing"
    under 0 OMPDARTS_DEBUG=check OMPDARTS_STATS=summary "$1"
    same_output
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "$ran: more than one line: $(cat "$work/err")"
    "$patient" $limit_s env OMP_TARGET_OFFLOAD=mandatory "$1" >"$work/plain" 2>"$work/plain.err"
    under $? "${own_crashes[@]}" OMP_TARGET_OFFLOAD=mandatory OMPDARTS_LOG=off "$1"
    same_output
    if [ -z "$sanitizer" ]; then
        "$E2E_COMMAND" run "$1" >"$work/out" 2>"$work/err"
        expect_exit 0 $? "ompdarts run $1"
        says "$text"
    fi
}

other_machine "$E2E_PROGRAMS/offload_policy" "$work/other_machine" || fail "no device image found in the program"
on_host "$work/other_machine"
if "$E2E_CLANG" -std=gnu17 -O1 -fopenmp --offload-arch=sm_90 --cuda-path="${CUDA_PATH:-/usr/local/cuda}" \
    --libomptarget-nvptx-bc-path="$E2E_LLVM_LIBDIR/libomptarget-nvptx-sm_90.bc" "-L$E2E_LLVM_LIBDIR" \
    "-Wl,-rpath,$E2E_LLVM_LIBDIR" "$sources/programs/offload_policy.c" -o "$work/nvptx" 2>"$work/err"; then
    "$patient" $limit_s "$work/nvptx" >"$work/out" 2>&1
    if grep -q "devices 0" "$work/out"; then
        on_host "$work/nvptx"
    else
        echo "there is an NVIDIA device: not tried without"
    fi
else
    echo "code for NVIDIA devices cannot be compiled here: not tried"
fi

plain 0 OMP_TARGET_OFFLOAD=disabled "$E2E_PROGRAMS/offload_policy"
under 0 OMP_TARGET_OFFLOAD=disabled "$E2E_PROGRAMS/offload_policy"
same_output
[ ! -s "$work/err" ] || fail "$ran: $(cat "$work/err")"
under 0 OMP_TARGET_OFFLOAD=disabled OMPDARTS_STATS=summary "$E2E_PROGRAMS/offload_policy"
same_output
says "OMP_TARGET_OFFLOAD=disabled: target regions run on the host"
[ "$(wc -l <"$work/err")" -eq 1 ] || fail "$ran: more than one line: $(cat "$work/err")"
# alone VAR=VALUE PROGRAM ARGUMENTS… : as without the library, with all its tasks on CPU workers
alone() {
    local offload=$1
    shift
    plain 0 ${offload:+OMP_TARGET_OFFLOAD=disabled} "$@"
    for policy in darts eager dmdas stationary auto; do
        under 0 $offload OMPDARTS_CPU=1 OMPDARTS_SCHED=$policy "$@"
        same_checksum
        stats "stats.tasks == 120" "len(stats.cpus) == 1" "stats.cpus[0].tasks == 120" "stats.devices == []"
    done
}
other_machine "$E2E_BENCH/cholesky" "$work/cholesky" || fail "no device image found in cholesky"
for style in task region; do
    alone "" "$work/cholesky" --style $style 8 64
    says "no device for this program's device code: its target tasks run on 1 CPU worker ("
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "$ran: more than one line: $(cat "$work/err")"
    for offload in OMP_TARGET_OFFLOAD=disabled OMPDARTS_DEVICES=0; do
        alone $offload "$E2E_BENCH/cholesky" --style $style 8 64
        [ ! -s "$work/err" ] || fail "$ran: $(cat "$work/err")"
    done
done
for program in awaited_grandchildren dependences implicit_maps locks_in_task nested_structs reduction tasking taskwait_in_task; do
    plain 0 OMP_TARGET_OFFLOAD=disabled "$E2E_PROGRAMS/$program"
    under 0 OMPDARTS_DEVICES=0 OMPDARTS_CPU=1 "$E2E_PROGRAMS/$program"
    same_output
done
under 2 OMPDARTS_DEVICES=0 "$E2E_BENCH/cholesky" 2 16
says "OMPDARTS_DEVICES=0 (--devices): allowed only with CPU workers, set OMPDARTS_CPU (--cpu), too"
under 2 OMPDARTS_DEVICES=0 OMPDARTS_CPU=1 OMP_TARGET_OFFLOAD=mandatory "$E2E_BENCH/cholesky" 2 16
says "OMPDARTS_DEVICES=0 (--devices): OMP_TARGET_OFFLOAD=mandatory forbids the host"
ASAN_OPTIONS=detect_leaks=0 OMP_TARGET_OFFLOAD=disabled "$E2E_COMMAND" info >"$work/out" 2>&1
grep -q "none is used: OMP_TARGET_OFFLOAD=disabled" "$work/out" || fail "ompdarts info: $(cat "$work/out")"
finish
