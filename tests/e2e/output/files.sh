#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: files.sh
#
# Statistics and traces are not lost: no file is written over by another one, and all are complete when the summary has no reader,
# or a signal ends the program.
. "$(dirname "$0")/../common.sh"
program=("$E2E_BENCH/cholesky" 6 32)
long=("$E2E_BENCH/cholesky" --repeat 100000 16 32)
complete() {
    python3 -c 'import json, sys
for path in sys.argv[1:]: json.load(open(path, encoding="utf-8"))' "$work/s.json" "$work/t.json" || fail "$ran: a file is not complete"
    rm -f "$work/s.json" "$work/t.json"
}
# refused TEXT VAR=VALUE… : before anything starts
refused() {
    local text=$1
    shift
    under 2 "$@" "${program[@]}"
    says "$text"
    [ ! -s "$work/out" ] || fail "$ran: the program started"
}

# One file, one purpose.
refused "OMPDARTS_TRACE=$work/x.json: the same file as OMPDARTS_STATS; allowed: a different file" OMPDARTS_STATS="$work/x.json" \
    OMPDARTS_TRACE="$work/x.json"
refused "the same file as OMPDARTS_TRACE" OMPDARTS_TRACE="$work/x.json" OMPDARTS_RECORD="$work/../$(basename "$work")/x.json"
refused "OMPDARTS_TRACE=$work/%z.json: %z is no known pattern" OMPDARTS_TRACE="$work/%z.json"
under 0 OMPDARTS_STATS=/dev/null OMPDARTS_TRACE=/dev/null "${program[@]}"

# Two programs in a script, and a name for each.
under 0 RANK=3 OMPDARTS_STATS="$work/s-%q{RANK}-%p.json" OMPDARTS_TRACE="$work/t-%h-%p.json" sh -c '"$@"; "$@"' sh "${program[@]}"
[ "$(find "$work" -name 's-3-*.json' | wc -l)" -eq 2 ] || fail "$ran: statistics: $(ls "$work")"
[ "$(find "$work" -name "t-$(hostname)-*.json" | wc -l)" -eq 2 ] || fail "$ran: traces: $(ls "$work")"

# Without a name for each the second one says so; a shell's next command that writes to the same file does not.
under 0 OMPDARTS_TRACE="$work/one.json" sh -c '"$@"; "$@"' sh "${program[@]}"
[ "$(grep -c 'one.json (OMPDARTS_TRACE) is another program.s of the same script, and is overwritten: %p in' "$work/err")" -eq 1 ] ||
    fail "$ran: not one warning: $(cat "$work/err")"
under 0 OMPDARTS_TRACE="$work/one.json" "${program[@]}"
[ ! -s "$work/err" ] || fail "$ran: $(cat "$work/err")"

# What reads is not replaced.
trace=$(find "$work" -name 't-*.json' | head -n 1)
sum=$(cksum <"$trace")
"$E2E_COMMAND" report "$trace" -o "$trace" 2>"$work/err" && fail "report -o TRACE: not refused"
ran="report -o TRACE"
says "would replace the trace; allowed: another file"
echo '#!/bin/sh' >"$work/program"
"$E2E_COMMAND" report "$trace" -o "$work/program" 2>"$work/err" && fail "report -o PROGRAM: not refused"
ran="report -o PROGRAM"
says "is a program, which would be replaced"
ln -s "$trace" "$work/other.paje"
"$E2E_COMMAND" trace convert "$trace" "$work/other.paje" 2>"$work/err" && fail "trace convert: not refused"
[ "$(cksum <"$trace")" = "$sum" ] || fail "the trace was replaced"

# No page is left where the disk is full, and what could not be written is said once.
(ulimit -f 8 && "$E2E_COMMAND" report "$trace" -o "$work/half.html" 2>"$work/err") && fail "report: not refused"
ran="report to a full disk"
says "half.html could not be written: File too large"
[ ! -e "$work/half.html" ] || fail "$ran: half a page is left"
under 0 OMPDARTS_STATS=/dev/full "${program[@]}"
says "ompdarts: statistics: /dev/full was not written: No space left on device"
[ "$(wc -l <"$work/err")" -eq 1 ] || fail "$ran: not one line: $(cat "$work/err")"

# The summary goes to a pipe that nobody reads.
export OMPDARTS_STATS="summary,$work/s.json" OMPDARTS_TRACE="$work/t.json"
ran="no reader"
python3 - "$preload" "${program[@]}" <<'CODE' || fail "the program ended otherwise where nobody read its summary"
import os, signal, subprocess, sys

read, write = os.pipe()
os.close(read)
env = dict(os.environ, LD_PRELOAD=sys.argv[1])
sys.exit(subprocess.run(sys.argv[2:], stderr=write, stdout=subprocess.DEVNULL, env=env,
                        preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL)).returncode)
CODE
complete

# Ended by a signal, after half a second of work.
for signal in HUP XCPU USR2 PIPE TERM INT; do
    ran="SIG$signal"
    python3 - "$signal" "$preload" "$work/t.json" "$work/err" "${long[@]}" <<'CODE' || fail "$ran: the program did not end by it"
import os, signal, subprocess, sys, time

number = getattr(signal, "SIG" + sys.argv[1])


def plain():
    for one in (number, signal.SIGINT):
        signal.signal(one, signal.SIG_DFL)


env = dict(os.environ, LD_PRELOAD=sys.argv[2])
with open(sys.argv[4], "wb") as errors:
    program = subprocess.Popen(sys.argv[5:], stdout=subprocess.DEVNULL, stderr=errors, env=env, preexec_fn=plain)
for _ in range(600):
    time.sleep(.1)
    if os.path.exists(sys.argv[3]) and os.path.getsize(sys.argv[3]) > 1000:
        break
program.send_signal(number)
sys.exit(program.wait(60) != -number)
CODE
    says "statistics so far"
    says "MB out"
    complete
done

# The terminal closes.
ran="a closed terminal"
python3 - "$preload" "$work/t.json" "${long[@]}" <<'CODE' || fail "$ran: the program did not end by SIGHUP"
import os, pty, signal, sys, time

child, side = pty.fork()
if not child:
    os.execve(sys.argv[3], sys.argv[3:], dict(os.environ, LD_PRELOAD=sys.argv[1], OMPDARTS_PROGRESS="1"))
for _ in range(600):
    time.sleep(.1)
    if os.path.exists(sys.argv[2]) and os.path.getsize(sys.argv[2]) > 1000:
        break
os.close(side)
_, status = os.waitpid(child, 0)
sys.exit(not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGHUP))
CODE
complete
finish
