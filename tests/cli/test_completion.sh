#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Completion of the command's arguments in bash, and in zsh where that is installed. Usage: test_completion.sh COMMAND
# SOURCE_FOLDER. Exit codes: 0 right, 1 wrong.
set -u
command=$(realpath "$1")
completion=$2/tools/completion
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# --- bash: the words of the line as it splits them ------------------------------------------------------------
compopt() { # needs a shell that really completes
    shift
    comp_options+=" $*"
}
# shellcheck source=/dev/null
source "$completion/ompdarts.bash"

# offers WANTED WORD… : exactly these words, or "files"
offers() {
    local wanted=$1
    shift
    COMP_WORDS=(ompdarts "$@") COMP_CWORD=$#
    comp_options=""
    _ompdarts "$command"
    local got=${COMPREPLY[*]}
    [[ -z $got && $comp_options == *default* ]] && got=files
    [[ $got == "$wanted" ]] || fail "ompdarts $*: '$got', not '$wanted'"
}
offers "run report" r
offers "check check=warn" run --debug = ch
offers "show clear" history ""
offers "--each" map --ea
offers "darts dmda dmdar dmdas" map --each --sched = d
offers files map --mem 2G ./program --sched
offers "--sched=" run --sch
offers "darts dmda dmdar dmdas" run --sched = d
offers "darts dmda dmdar dmdas" run --sched d
offers "auto belady lru luf" run --evict =
offers "auto strict depend" run --coherence = ""
offers "warning" run --log = w
offers "--no-check" run --mem = 2G --no
offers files run --trace = x
offers files run ./program --sched
offers files run -- ./program --sched
offers files run --spill ./program --sc
offers files bench -o ""
offers files bench --output = ""
offers files bench -n ""
offers "cholesky" bench -n 8 ch
offers "--policies --rules --svg --help" info "x[y]" --
offers "darts+luf" bench -s darts+lu
offers files run --stats x --trace "" ""
offers "cholesky" bench ch
offers "darts darts+belady darts+lru darts+luf" bench -s dar
offers "float double" bench --type =
subcommands=(run bench report map env info batch analyze) # history has only --help
if "$command" sim --help >/dev/null 2>&1; then
    subcommands+=(sim)
    offers "nvlink" sim --platform n
    offers "cholesky-set cholesky" sim --workload ch
fi
offers "convert" trace ""
offers files trace convert ""
offers files report ""
offers "--output=" report --o
offers "--markdown --man" env --m

# Every option that --help names is offered.
for subcommand in "${subcommands[@]}"; do
    COMP_WORDS=(ompdarts $subcommand --) COMP_CWORD=2
    _ompdarts "$command"
    ((${#COMPREPLY[@]} >= 2)) || fail "$subcommand: hardly any options: ${COMPREPLY[*]}"
    for option in $("$command" $subcommand --help | grep -oE -- '^ +(-[a-z], |   )? *--[a-z-]+' | grep -oE -- '--.*'); do
        [[ " ${COMPREPLY[*]} " == *" $option"[\ =]* ]] || fail "$subcommand: $option is not offered"
    done
done

# --- zsh: a terminal that is typed into ----------------------------------------------------------------------------
cat >"$work/type.zsh" <<'EOF'
setopt extendedglob
zmodload zsh/zpty
read_for() { # TEXT: what the shell has written when it contains TEXT, or after ten seconds
    local text="" part i
    for ((i = 0; i < 200; i++)); do
        zpty -r -t shell part && text+=$part || sleep 0.05
        text=${text//$'\e'\[[0-9;]#m/}
        [[ $text == *$1* ]] && break
    done
    print -r -- "$text"
}
zpty -b shell zsh -f -i
zpty -w shell "PROMPT='% '; fpath=($1 \$fpath); PATH=$2:\$PATH; autoload -U compinit; compinit -u -D; bindkey '^I' complete-word; echo REA''DY"
read_for READY >/dev/null
shift 2
for line wanted in "$@"; do
    zpty -n -w shell "$line"$'\t'
    got=$(read_for $wanted)
    [[ $got == *$wanted* ]] || print -r -- "FAILED: $line: no '$wanted' in ${(qqqq)got}"
    zpty -n -w shell $'\x15'
done
zpty -d shell
EOF
if command -v zsh >/dev/null; then
    mkdir "$work/bin"
    ln -s "$command" "$work/bin/ompdarts"
    HOME=$work timeout 120 zsh -f "$work/type.zsh" "$completion" "$work/bin" "ompdarts re" "ompdarts report" \
        "ompdarts run --sche" "--sched=" "ompdarts run --sched=dar" "--sched=darts" "ompdarts run --coherence=s" "=strict" \
        "ompdarts run --no-c" "--no-check" "ompdarts bench cho" "bench cholesky" "ompdarts bench --sty" "--style=" \
        "ompdarts bench --style=r" "--style=region" "ompdarts bench -s darts+lu" "-s darts+luf" "ompdarts run --spil" "--spill" "ompdarts trace co" "trace convert" "ompdarts report --o" "--output=" \
        >"$work/zsh" 2>&1 || fail "zsh ends with $?"
    if grep . "$work/zsh"; then
        failures=$((failures + 1))
    fi
else
    echo "no zsh here: its completion is not tried"
fi

[ $failures -eq 0 ] && echo "all right"
exit $((failures > 0))
