#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The `ompdarts` command. Usage: test_cli.sh COMMAND LIBRARY [SOURCE_FOLDER]
#
# No offload program is needed: one is imitated by adding clang's section to an ordinary executable. Programs run
# here print their environment, which shows what `ompdarts run` set. Exit codes: 0 right, 1 wrong.
set -u
command=$(realpath "$1")
library=$(realpath "$2")
source_folder=${3:-$(dirname "$0")/../..}
if grep -qaE '__(asan|tsan)_init' "$library"; then
    echo "skipped: a library with a sanitizer cannot be preloaded into /bin/sh"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
unset LD_PRELOAD LIBOMP_USE_HIDDEN_HELPER_TASK LIBOMP_NUM_HIDDEN_HELPER_THREADS "${!OMPDARTS_@}"

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# expect STATUS ARGUMENTS... : runs the command; standard output and error go to $work/out and $work/err.
expect() {
    local expected=$1 status
    shift
    timeout 60 "$command" "$@" >"$work/out" 2>"$work/err"
    status=$?
    [ $status -eq "$expected" ] || fail "ompdarts $*: exit status $status, not $expected: $(cat "$work/err")"
}

# refused TEXT ARGUMENTS... : exit status 2 and one line on standard error that contains TEXT.
refused() {
    local text=$1
    shift
    expect 2 "$@"
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "ompdarts $*: not one line: $(cat "$work/err")"
    grep -qF -- "$text" "$work/err" || fail "ompdarts $*: no '$text' in: $(cat "$work/err")"
    [ ! -s "$work/out" ] || fail "ompdarts $*: the program started"
}

has() { grep -qxF -- "$1" "$work/out" || fail "no line '$1' in: $(cat "$work/out")"; }

# A script prints the environment that it got, without the preloaded library in its way.
cat >"$work/show" <<'EOF'
#!/bin/sh
echo "LD_PRELOAD=$LD_PRELOAD"
unset LD_PRELOAD
env | grep -E '^(OMPDARTS_|LIBOMP_)'
for argument; do echo "argument <$argument>"; done
exit 7
EOF
chmod +x "$work/show"
show=$work/show

# --- help and version ---------------------------------------------------------------
expect 0 --help
has "Usage: ompdarts COMMAND [ARGUMENTS]"
expect 0 --version
grep -qE '^ompdarts [0-9]+\.[0-9]+\.[0-9]+$' "$work/out" || fail "--version: $(cat "$work/out")"
for subcommand in run env info history map; do
    expect 0 $subcommand --help
    grep -q "^Usage: ompdarts $subcommand" "$work/out" || fail "$subcommand --help"
    grep -q "^Exit status:" "$work/out" || fail "$subcommand --help does not tell the exit status"
done
expect 2
refused "unknown command 'rum', did you mean 'run'?" rum
refused "unknown command 'rnu', did you mean 'run'?" rnu
refused "unknown command '$show', did you mean \`ompdarts run $show\`?" "$show"
expect 0 version
refused "unknown option '--verbose'; there are: --help --version" --verbose
refused "unknown command 'x'; there are: run serve env info history bench sim report map trace" x
expect 0 help run
has "Usage: ompdarts run [OPTIONS] [--] PROGRAM [ARGUMENTS]"
COLUMNS=70 expect 0 help run
[ "$(awk 'length > 70 && /^   /' "$work/out")" = "" ] || fail "help run: lines of more than 70 columns"
for row in --mem=VALUE --debug=VALUE "500M, 1.5G or"; do
    grep -qF -- "$row" "$work/out" || fail "help run: no $row"
done
refused "unknown argument '--mrkdown'" env --mrkdown --man
refused "env takes one argument" env --markdown --man
refused "option '--help' takes no value" bench --help=x
refused "unknown option '-z'" bench -zh
refused "option '-n' needs a value" bench -n
# to_a_full_disk NAME ARGUMENT… : fails with one line, which says where NAME could not be written
to_a_full_disk() {
    "$command" "${@:2}" >/dev/full 2>"$work/err" && fail "${*:2}: a full disk goes unnoticed"
    grep -q "$1.*: No space left on device" "$work/err" || fail "${*:2}, to a full disk: $(cat "$work/err")"
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "${*:2}, to a full disk, not one line: $(cat "$work/err")"
}
to_a_full_disk "standard output" env
to_a_full_disk "standard output" --help
to_a_full_disk "standard output" --version
to_a_full_disk "/dev/full" info --svg /dev/full
refused "unknown argument '--markdwn', did you mean '--markdown'?" env --markdwn
refused "unknown argument 'x'" info x
refused "option '--rules' takes no value" info --rules=x
refused "unknown argument '--svgs', did you mean '--svg'?" info --svgs

# --- the command line of `run` --------------------------------------------------------
refused "no PROGRAM given" run
refused "unknown option '--shed', did you mean '--sched'?" run --shed=darts "$show"
refused "unknown option '-x'" run -x "$show"
refused "option '--sched' needs a value" run --sched
refused "option '--no-check' takes no value" run --no-check=1 "$show"
refused "unknown option '--memory', did you mean '--mem'?" run --memory=1G "$show"
refused "unknown option '-mem', did you mean '--mem'?" run -mem 1G "$show"
refused "unknown option '--eviction', did you mean '--evict'?" run --eviction lru "$show"
# Names that have gone, or that others use.
while read -r old new; do
    refused "unknown option '--$old', write '--$new'" run "--$old=1" "$show"
done <<'EOF'
policy sched=POLICY
working devices=WHICH:ACTIVE
summary stats=summary
no-summary stats=0
no-progress progress=0
pin backend=cuda:pin=SIZE
link-bandwidth backend=omptarget:link=RATE
check debug=check
check-host debug=check
watchdog debug=watchdog=SECONDS
jitter debug=jitter=SECONDS
task-buffer buffer=N
mem-limit mem=SIZE
report trace=FILE.json
verbose log=info
gpus devices=N
EOF
refused "unknown option '--host-workers'" run --host-workers=2 "$show"

# --- what `run` sets --------------------------------------------------------------------
expect 7 run "$show"
has "LD_PRELOAD=$library"
has OMPDARTS_STATS=summary
has LIBOMP_NUM_HIDDEN_HELPER_THREADS=0
[ "$(grep -c '^OMPDARTS_' "$work/out")" -eq 1 ] || fail "more variables than asked for: $(cat "$work/out")"

expect 7 run --sched=eager --evict lru --devices 3:auto --mem=60M --buffer 30 --coherence=strict --device-clause hint \
    --priority=none --backend omptarget:link=12G --stats "$work/s.json" --seed=42 --log info \
    --debug check=warn,watchdog=60,jitter=0.001 -- "$show" --sched "two words" -h
has OMPDARTS_SCHED=eager
has OMPDARTS_EVICT=lru
has OMPDARTS_DEVICES=3:auto
has OMPDARTS_MEM=60M
has OMPDARTS_BUFFER=30
has OMPDARTS_COHERENCE=strict
has OMPDARTS_DEVICE_CLAUSE=hint
has OMPDARTS_PRIORITY=none
has OMPDARTS_BACKEND=omptarget:link=12G
has "OMPDARTS_STATS=$work/s.json"
has OMPDARTS_SEED=42
has OMPDARTS_LOG=info
has OMPDARTS_DEBUG=check=warn,watchdog=60,jitter=0.001
has "argument <--sched>"
has "argument <two words>"
has "argument <-h>"
[ ! -e "$work/s.json" ] || fail "checking the stats file left it behind"

expect 7 run --debug=check "$show"
has OMPDARTS_DEBUG=check

expect 7 run "$show" --sched nonsense # the program's option, not ours
has "argument <--sched>"
expect 7 run --cache=0 --spill --progress=1 "$show"
has OMPDARTS_CACHE=0
has OMPDARTS_SPILL=1
has OMPDARTS_PROGRESS=1
refused "--cache=x: not a valid value; allowed: 0|1" run --cache=x "$show"
OMPDARTS_SCHED=eager expect 7 run --disable "$show"
has OMPDARTS_SCHED=eager
has OMPDARTS_DISABLE=1
OMPDARTS_STATS=0 LIBOMP_USE_HIDDEN_HELPER_TASK=1 expect 7 run "$show"
has OMPDARTS_STATS=0
has LIBOMP_USE_HIDDEN_HELPER_TASK=1
! grep -q LIBOMP_NUM_HIDDEN_HELPER_THREADS "$work/out" || fail "the user wants hidden helper threads"
OMPDARTS_STATS="" expect 7 run "$show"
has OMPDARTS_STATS=summary
LD_PRELOAD=libm.so.6 expect 7 run "$show"
has "LD_PRELOAD=$library:libm.so.6"
cp "$(ldconfig -p | sed -n 's/.* => \(.*libm\.so\.6\)$/\1/p' | head -n 1)" "$work/libasan.so.8" # by its name, a sanitizer's runtime
LD_PRELOAD=$work/libasan.so.8:libm.so.6 expect 7 run "$show"
has "LD_PRELOAD=$work/libasan.so.8:$library:libm.so.6"
LD_PRELOAD=$work/libasan.so.8 expect 7 run "$show"
has "LD_PRELOAD=$work/libasan.so.8:$library"
PATH=$work:$PATH expect 7 run show
has "LD_PRELOAD=$library"

# --- bad input: refused before any work starts --------------------------------------------
refused "--sched=dart: unknown name; allowed: ap, auto, darts, " run --sched dart "$show"
refused "did you mean darts?" run --sched dart "$show"
refused "--evict=lur: unknown name; allowed: auto, belady, lru, luf" run --evict lur "$show"
refused "--mem=60Q: not a valid value; allowed: auto, or a size" run --mem 60Q "$show"
refused "--mem=0: not a valid value" run --mem 0 "$show"
refused "--devices=0*0: not a valid value; allowed: WHICH, WHICH:ACTIVE, or auto for all:auto; WHICH: all, a whole number from 1 to 61 " run --devices "0*0" "$show"
refused "/nonexistent/s.json: No such file or directory" run --stats /nonexistent/s.json "$show"
refused "Is a directory; allowed: 0 (off), summary, FILE, or summary,FILE; FILE: in a folder that can be written" run --stats "$work" "$show"
refused "--buffer=x: not a valid value; allowed: a whole number from 1 to 1000000" run --buffer x "$show"
refused "--debug=check,jiter=1: 'jiter=1' is not a valid part; allowed: 0 (off), or some of check, " run --debug check,jiter=1 "$show"
refused "--backend=omptarget:pin=1G: 'pin=1G' is not a valid part; allowed: auto, " run --backend=omptarget:pin=1G "$show"
refused "--sched=darts:published: 'published' is no option, did you mean 'alg12'?" run --sched=darts:published "$show"
refused "OMPDARTS_MEM (--mem): only 4 bytes, did you mean 4G?" run --mem=4 "$show"
refused "'link=400' is not a valid part; allowed: " run --backend omptarget:link=400 "$show"
grep -q "RATE: 0 (off) or bytes per second, at least 100K" "$work/err" || fail "link=400: $(cat "$work/err")"
refused "--sched=darts+luf: 'luf' is an eviction rule, which has an option of its own: --evict=luf" run --sched darts+luf "$show"
refused "--stats=summery: did you mean summary? A file of that name is ./summery" run --stats summery "$show"
refused "no PROGRAM given" run --mem 4M
for option in mem trace; do # a value was forgotten
    refused "no PROGRAM given: '$show' was taken for the value of --$option" run --$option "$show"
done
refused "--trace=$show: is a program, which would be replaced; allowed: " run --trace "$show" "$show"
grep -q '^echo' "$show" || fail "the program was replaced"
refused "'off' would be the PROGRAM, did you mean '--cache=0'?" run --cache off "$show"
refused "'1' would be the PROGRAM, did you mean '--progress=1'?" run --progress 1 "$show"
expect 7 run --stats "./summery" "$show" # a file after all
refused "option '--trace' needs a value" run --trace= "$show"
refused "option '--sched' needs a value" run --sched "" "$show"
for word in 1 on off; do
    refused "--trace=$word: a file's name is missing; allowed: 0 (off), or a file" run --trace $word "$show"
    refused "--stats=$word: a file's name is missing; allowed: 0 (off), summary" run --stats $word "$show"
done
for rule in "darts,luf" "darts luf"; do
    refused "'luf' is an eviction rule, which has an option of its own: --evict=luf" run --sched "$rule" "$show"
done
refused "--sched=libnearest.so: unknown name; a policy in a file is plugin:libnearest.so" run --sched libnearest.so "$show"
refused "--sched=plugin:: no file's name; allowed: plugin:FILE" run --sched plugin: "$show"
refused "options are behind the command: \`ompdarts run --sched=darts\`" --sched=darts run "$show"
refused "unknown option '--form', did you mean '--from'?" map --form="$work/trace.json"
refused "--trace=a.json: the same file as --stats; allowed: a different file" run --stats a.json --trace a.json "$show"
OMPDARTS_STATS=a.json refused "--record=./a.json: the same file as OMPDARTS_STATS; allowed" run --record ./a.json "$show"
refused "--trace=%q{NOT_THERE}.json: the variable NOT_THERE is not set; allowed: " run --trace '%q{NOT_THERE}.json' "$show"
refused "--trace=a-%x.json: %x is no known pattern (%% is a percent sign); allowed: " run --trace 'a-%x.json' "$show"
refused "--stats=a%: % is no known pattern" run --stats 'a%' "$show"
cd "$work" || exit 1
refused "cannot run 'show': No such file or directory in \$PATH; did you mean ./show; allowed: an executable file" run show
refused "unknown command 'show', did you mean \`ompdarts run ./show\`?" show
touch trace.json
refused "unknown command 'trace.json', did you mean \`ompdarts report trace.json\`?" trace.json
refused "cannot run 'trace.json', did you mean \`ompdarts report trace.json\`?" run trace.json
touch program.c
refused "cannot run 'program.c', source code: compile it with clang -fopenmp" run program.c
refused "map: 'trace.json' is no program, did you mean '--from=trace.json'?" map trace.json
cd "$OLDPWD" || exit 1
OMPDARTS_MEM=60Q refused "ompdarts: OMPDARTS_MEM=60Q: not a valid value" run --buffer=4 "$show"

# --- programs -------------------------------------------------------------------------------
plain=$(realpath "$(type -P true)")
refused "'$plain' was not built with offloading: compile with -fopenmp -fopenmp-targets=" run "$plain"
in_vain() { # TEXT PROGRAM: with --no-check it runs, and one line says why nothing of it is scheduled
    expect 0 run --no-check "$2"
    [ "$(cat "$work/err")" = "ompdarts: '$2' $1: only what it loads or starts can be scheduled" ] ||
        fail "--no-check $2: $(cat "$work/err")"
}
in_vain "was not built with offloading" "$plain"
expect 0 run --no-check --stats=0 "$plain"
[ ! -s "$work/err" ] || fail "--stats=0, and yet: $(cat "$work/err")"
refused "cannot run '$work/missing': No such file or directory" run "$work/missing"
refused "cannot run 'no-such-program-anywhere': No such file or directory" run no-such-program-anywhere
refused "cannot run '$work': Is a directory" run "$work"
echo data >"$work/data"
refused "cannot run '$work/data': Permission denied" run "$work/data"
chmod +x "$work/data"
refused "neither an executable of this system nor a script" run "$work/data"
: >"$work/empty"
chmod +x "$work/empty"
refused "neither an executable of this system nor a script" run "$work/empty"
head -c 200 "$plain" >"$work/damaged"
chmod +x "$work/damaged"
refused "was not built with offloading" run "$work/damaged"
if echo 'int main(void) { return 0; }' | cc -x c -static -o "$work/static" - 2>/dev/null; then
    refused "'$work/static' is statically linked, so the library cannot be preloaded" run "$work/static"
    in_vain "is statically linked, so the library cannot be preloaded" "$work/static"
else
    echo "no static libc: a statically linked program was not tried"
fi
if echo 'int main(void) { int n = 0;
#pragma omp parallel reduction(+ : n)
n++; return n < 1; }' | gcc -x c -fopenmp -o "$work/gcc" - 2>/dev/null; then
    refused "was built with GCC's OpenMP runtime (libgomp)" run "$work/gcc"
    in_vain "was built with GCC's OpenMP runtime (libgomp), which cannot be scheduled" "$work/gcc"
else
    echo "no GCC with OpenMP: its programs were not tried"
fi
if [ "$(id -u)" -eq 0 ] && cp "$plain" "$work/others" && chown 12345 "$work/others" && chmod u+s "$work/others"; then
    refused "runs with other rights than yours (setuid or setgid)" run "$work/others"
    in_vain "runs with other rights than yours (setuid or setgid), so nothing can be preloaded" "$work/others"
fi
if command -v objcopy >/dev/null; then
    for section in .llvm.offloading omp_offloading_entries llvm_offload_entries; do
        objcopy --add-section "$section=$work/data" "$plain" "$work/offloads"
        expect 0 run "$work/offloads"
        cp "$(realpath "$(type -P false)")" "$work/false"
        objcopy --add-section "$section=$work/data" "$work/false"
        expect 1 run "$work/false"
    done
else
    echo "no objcopy: programs with device code were not tried"
fi

# --- env and info -----------------------------------------------------------------------------
OMPDARTS_MEM=60M expect 0 env
grep -qE '^OMPDARTS_MEM +60M +auto +bytes ' "$work/out" || fail "env: $(cat "$work/out")"
grep -qE '^OMPDARTS_SCHED +auto +auto ' "$work/out" || fail "env: $(cat "$work/out")"
OMPDARTS_MEM=60Q expect 2 env
grep -q '^ompdarts: OMPDARTS_MEM=60Q' "$work/err" || fail "env with a bad value: $(cat "$work/err")"
for variable in MEN MEMORY; do
    env "OMPDARTS_$variable=1M" "$command" env >"$work/out" 2>"$work/err"
    grep -q "OMPDARTS_$variable is ignored (did you mean OMPDARTS_MEM?)" "$work/err" || fail "env: $(cat "$work/err")"
done
OMPDARTS_WORKING=2 expect 0 env
grep -q 'OMPDARTS_WORKING is ignored: set OMPDARTS_DEVICES=WHICH:ACTIVE' "$work/err" || fail "env: $(cat "$work/err")"
expect 0 env --markdown
cmp -s "$work/out" "$source_folder/docs/options.md" || fail "docs/options.md is not what 'ompdarts env --markdown' prints"
# libpciaccess, which hwloc uses, never frees its list of devices.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 expect 0 info
has "  library      $library"
grep -q '^  darts  ' "$work/out" || fail "info lists no darts: $(cat "$work/out")"
for policy in $("$command" info --policies); do
    grep -qF "\`$policy\`" "$source_folder/README.md" || fail "README.md does not name the policy $policy"
    grep -qE "^## (.*, )?$policy(,|:|\$)" "$source_folder/docs/policies.md" || fail "docs/policies.md has no part about $policy"
done
for rule in $("$command" info --rules); do
    for document in README.md docs/policies.md; do
        grep -qF "\`$rule\`" "$source_folder/$document" || fail "$document does not name the eviction rule $rule"
    done
done
for part in "policies" "eviction rules" LLVM devices links machine limits; do
    grep -q "^$part" "$work/out" || fail "info has no part '$part'"
done

# --- what is remembered between runs ---------------------------------------------------------------
export XDG_CACHE_HOME=$work/cache
expect 0 history
grep -qx "nothing yet" "$work/out" || fail "history without a file: $(cat "$work/out")"
cat >"$work/cache/ompdarts/$(uname -n)" <<'EOF'
ompdarts history 1
65536 12 0.0125 0.00025 86400 code program+0x53a0 of 1795442972 on machine 62
4096 100 2.5e-06 0 86400 kernel __omp_offloading_fd00_1a2b3_two_parts_l12 on machine 190
0 1 2e-06 0 86400 link between host and device of machine 62
1 1 5.5e+09 0 86400 link between host and device of machine 62
1 1 5.5e+09 0 86400 link at once host and device both ways of machine 62
1 1 1.1e+10 0 86400 link at once host to two devices of machine 62
77 5 0 0 86400 slices of kernel __omp_offloading_fd00_1a2b3_count_l34 on machine 62: it writes to the same pages in all slices
77 0 0 0 86400 slices of kernel __omp_offloading_fd00_1a2b3_count_l56 on machine 62: it was not faster in slices
rows 8
EOF
TZ=UTC expect 0 history show
grep -qE '^1970-01-02 +12 +12.5 ms +250.0 us +64.0 KiB +host +program\+0x53a0$' "$work/out" || fail "history: $(cat "$work/out")"
grep -qE '^1970-01-02 +100 +2.5 us .* 4.0 KiB +NVIDIA +two_parts, line 12$' "$work/out" || fail "history: $(cat "$work/out")"
grep -qE '^1970-01-02 +5.5 GB/s +host +between host and device$' "$work/out" || fail "history: $(cat "$work/out")"
grep -qE '^1970-01-02 +5 +host +count, line 34: it writes to the same pages in all slices$' "$work/out" ||
    fail "history: $(cat "$work/out")"
! grep -q "line 56" "$work/out" || fail "history shows what is so no more: $(cat "$work/out")"
expect 0 history show two_parts
[ "$(grep -c '^1970' "$work/out")" -eq 1 ] || fail "history show TEXT: $(cat "$work/out")"
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 expect 0 info --svg
python3 -c 'import sys, xml.etree.ElementTree as x; sys.exit(x.parse(sys.argv[1]).getroot().tag != "{http://www.w3.org/2000/svg}svg")' "$work/out" ||
    fail "info --svg is no picture"
for form in "--svg $work/svg" "--svg=$work/svg"; do
    rm -f "$work/svg"
    ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 "$command" info $form >"$work/none" || fail "info $form"
    grep -q "^<svg" "$work/svg" && [ ! -s "$work/none" ] || fail "info $form: not the picture"
done
if grep -q "host device" "$work/out"; then
    grep -q "5.5 GB/s" "$work/out" || fail "info --svg: no bandwidth of the links: $(cat "$work/out")"
fi
if grep -q "host device" "$work/out"; then
    ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 expect 0 info
    grep -qE "^  0 +0\.50 +1\.00" "$work/out" || fail "info: what devices reach at once: $(cat "$work/out")"
fi
expect 0 history clear link
grep -qx "4 measurements cleared" "$work/out" || fail "history clear TEXT: $(cat "$work/out")"
expect 0 history clear slices
grep -qx "2 measurements cleared" "$work/out" || fail "history clear slices: $(cat "$work/out")"
expect 0 history clear
grep -qx "2 measurements cleared" "$work/out" || fail "history clear: $(cat "$work/out")"
expect 0 history
grep -qx "nothing yet" "$work/out" || fail "history after clear: $(cat "$work/out")"
refused "unknown argument 'cler', did you mean 'clear'?" history cler
unset XDG_CACHE_HOME

# --- the whole project ----------------------------------------------------------------------------
readers=$(cd "$source_folder" && grep -rlE --include='*.c' '\<(getenv|secure_getenv)\>|\<environ\>[^"]' util memmgr sched omp_ext tools)
[ "$readers" = util/options.c ] || fail "only util/options.c may read the environment, not: $readers"

[ $failures -eq 0 ] && echo "all right"
exit $((failures > 0))
