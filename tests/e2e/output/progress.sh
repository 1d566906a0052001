#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: progress.sh
#
# How far a program is: a line on a terminal, which is gone when it ends, and the engine's state at SIGUSR1. The program goes on.
. "$(dirname "$0")/../common.sh"
long=("$E2E_BENCH/cholesky" --repeat 100000 16 32)

# On a terminal of 70 columns: the line is shown several times, never wider than that; at the end it is wiped before the summary.
on_terminal() {
    python3 - "$@" <<'CODE'
import fcntl, os, pty, re, signal, struct, subprocess, sys, termios, time

main, side = pty.openpty()
fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 70, 0, 0))
program = subprocess.Popen(sys.argv[1:], stdin=side, stdout=side, stderr=side)
os.close(side)
text, wiped, deadline, asked = "", "\r\x1b[K", time.time() + 60, False
while time.time() < deadline:
    try:
        text += os.read(main, 65536).decode()
    except OSError:
        break
    if len(re.findall(r"\d+ tasks/s|k tasks/s", text)) >= 4 and not asked:
        program.send_signal(signal.SIGINT)
        asked = True
program.wait()
shown = [line.split("\r\n")[0] for line in text.split(wiped)[1:]]
lines = [line for line in shown if "tasks/s" in line]
checks = {
    "four lines": len(lines) >= 4,
    "their form": all(re.match(r"^[\d.k]+ done, [\d.k]+ ready, [\d.k]+ waiting \| [\d.k]+ tasks/s( \||$)", line) for line in lines),
    "their width": all(len(line) < 70 for line in lines),
    "busy devices": any("busy" in line for line in lines),
    "the last one is wiped": text.rfind("tasks/s") < text.rfind(wiped) < text.rfind("interrupted"),
    "the summary": "MB out" in text[text.rfind("interrupted"):],
}
for name, holds in checks.items():
    if not holds:
        print(f"not {name}: {text[-600:]!r}")
sys.exit(not all(checks.values()))
CODE
}
if [ -z "$sanitizer" ]; then # whose runtime `ompdarts run` does not preload
    on_terminal "$E2E_COMMAND" run --devices 2 "${long[@]}" || fail "the line on a terminal"
fi

# Elsewhere nothing is shown unless it is asked for, and short runs show nothing.
under 0 OMPDARTS_PROGRESS=1 "$E2E_BENCH/cholesky" 6 32
[ ! -s "$work/err" ] || fail "$ran: $(cat "$work/err")"

# SIGUSR1 before the first construct, and later: plain words, then the internals. The program goes on.
"$E2E_PROGRAMS/asks_early" >"$work/out" 2>"$work/err" && fail "SIGUSR1 without the library: the program went on"
under 0 "$E2E_PROGRAMS/asks_early"
says "ompdarts: SIGUSR1: this process has scheduled nothing yet"
# From its start as a process on, before the library is loaded.
[ -n "$sanitizer" ] || python3 - "$E2E_COMMAND" "$E2E_BENCH/cholesky" <<'CODE' || fail "SIGUSR1 at the start: the program ended"
import signal, subprocess, sys, time

program = subprocess.Popen([sys.argv[1], "run", "--stats=0", sys.argv[2], "6", "32"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
def answers():
    masks = [int(line.split()[1], 16) for line in open(f"/proc/{program.pid}/status") if line.startswith(("SigIgn", "SigCgt"))]
    return any(mask >> signal.SIGUSR1 - 1 & 1 for mask in masks)
while program.poll() is None and not answers():
    pass
while program.poll() is None:
    program.send_signal(signal.SIGUSR1)
    time.sleep(.002)
sys.exit(program.returncode)
CODE
# Where the library is off the signal does what it would do without us; a caller that ignores it is obeyed everywhere.
[ -n "$sanitizer" ] || for how in "DFL --disable -10" "IGN --disable 0" "DFL --log=error 0" "IGN --log=error 0"; do
    python3 - "$E2E_COMMAND" "$E2E_PROGRAMS/asks_early" $how <<'CODE' || fail "SIGUSR1: $how"
import signal, subprocess, sys
command, program, given, option, wanted = sys.argv[1:]
signal.signal(signal.SIGUSR1, getattr(signal, "SIG_" + given))
run = subprocess.run([command, "run", "--stats=0", option, program], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
sys.exit(run.returncode != int(wanted) or ("SIGUSR1" in run.stderr) != (given == "DFL" and wanted == "0"))
CODE
done

env LD_PRELOAD="$preload" OMPDARTS_STATS=summary OMPDARTS_LOG=info "${long[@]}" >"$work/out" 2>"$work/err" &
program=$!
answers() { grep -c 'tasks done, [0-9]* ready or running' "$work/err"; }
for ((i = 0; i < 600 && $(grep -c ' devices of ' "$work/err") < 1; i++)); do sleep 0.1; done
sleep 0.5 # tasks are under way
kill -USR1 $program
for ((i = 0; i < 600 && $(answers) < 1; i++)); do sleep 0.1; done
[ "$(grep -c 'engine state after' "$work/err")" -eq 0 ] || fail "SIGUSR1: internals at the first one"
lines=$(sed -n '/tasks done/,/internals)/p' "$work/err" | wc -l)
[ "$lines" -ge 3 ] && [ "$lines" -le 10 ] || fail "SIGUSR1: $lines lines: $(head -n 20 "$work/err")"
says "(again within 10 s: the scheduler's internals)"
for ((i = 0; i < 600 && $(answers) < 2; i++)); do
    kill -USR1 $program
    sleep 0.1
done
kill -TERM $program
wait $program
[ $? -eq 143 ] || fail "SIGUSR1: the program did not end by SIGTERM"
[ "$(grep -c 'engine state after [0-9]* events' "$work/err")" -ge 1 ] || fail "SIGUSR1 again: $(head -n 5 "$work/err")"
says "interrupted (Terminated): statistics so far"
finish
