# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Completion of the command `ompdarts` for bash. Options, policies, rules, workloads and platforms are asked of the command
# itself.

# _ompdarts_help COMMAND SUBCOMMAND: `map` takes the options of `run`, too
_ompdarts_help()
{
    COLUMNS=9999 "$1" "$2" --help 2>/dev/null # each description in one line
    [[ $2 != map ]] || COLUMNS=9999 "$1" run --help 2>/dev/null | grep -v -- '--help'
}

# _ompdarts_takes_value COMMAND SUBCOMMAND OPTION
_ompdarts_takes_value()
{
    [[ $3 =~ ^--?[a-z-]+$ ]] && _ompdarts_help "$1" "$2" | grep -qE -- "^ +(-[a-z], +)?$3(=| [A-Z])|^ +$3, +--[a-z-]+="
}

# _ompdarts_values COMMAND SUBCOMMAND OPTION: the words that the option allows; files where it takes one
_ompdarts_values()
{
    case $2:$3 in
        bench:--sched | bench:-s)
            local policy rule
            for policy in $("$1" info --policies); do
                echo "$policy"
                for rule in $("$1" info --rules); do
                    echo "$policy+$rule"
                done
            done ;;
        *:--sched) "$1" info --policies ;;
        *:--evict) printf '%s\n' auto; "$1" info --rules ;;
        *:--backend) printf '%s\n' auto omptarget cuda ;;
        *:--debug) printf '%s\n' check check=warn watchdog= jitter= ;;
        sim:--workload | analyze:--workload) "$1" sim --help | sed -n '/^Workloads:/,/^$/s/^  \([^ ]*\) .*/\1/p' ;;
        sim:--platform) "$1" sim --help | sed -n 's/^Platforms: //p' | tr ' ' '\n' ;;
        analyze:--model) printf '%s\n' resident replace ;;
        analyze:--rule) printf '%s\n' min-levels respect-order max-size max-min-size all ;;
        sim:--model) printf '%s\n' simgrid oracle ;;
        sim:--sched-time) printf '%s\n' ignore measure add ;;
        sim:--durations) printf '%s\n' known learnt ;;
        sim:--results) printf '%s\n' stay late early ;;
        bench:--style) printf '%s\n' task region blas ;;
        bench:--type) printf '%s\n' float double ;;
        bench:--target) printf '%s\n' host nvptx ;;
        *) # "  --option=VALUE …" or "  --option[=VALUE] …", then "  this|that (default this)"
            _ompdarts_help "$1" "$2" | sed -n "/^  *$3\[\{0,1\}=/{n;s/^  *\([^ ]*|[^ ]*\) (default.*/\1/p}" | tr '|' '\n' ;;
    esac
}

_ompdarts()
{
    local command=$1 subcommand=${COMP_WORDS[1]} current=${COMP_WORDS[COMP_CWORD]} option="" i words
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "run serve env info history bench sim batch analyze report map trace --help --version" -- "$current")
        return
    fi
    # "--option=val" comes as three words.
    if [[ $current == = ]]; then
        current="" option=${COMP_WORDS[COMP_CWORD - 1]}
    elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    elif [[ $current != -* ]] && _ompdarts_takes_value "$command" "$subcommand" "${COMP_WORDS[COMP_CWORD - 1]}"; then
        option=${COMP_WORDS[COMP_CWORD - 1]}
    fi
    # Behind the program of `run` and `map` all is the program's.
    if [[ $subcommand == @(run|map) && -z $option ]]; then
        for ((i = 2; i < COMP_CWORD; i++)); do
            if [[ ${COMP_WORDS[i]} == -- ]] || { [[ ${COMP_WORDS[i]} != [-=]* && ${COMP_WORDS[i - 1]} != = ]] &&
                ! _ompdarts_takes_value "$command" "$subcommand" "${COMP_WORDS[i - 1]}"; }; then
                compopt -o default
                return
            fi
        done
    fi
    if [[ -n $option ]]; then
        words=$(_ompdarts_values "$command" "$subcommand" "$option" 2>/dev/null)
        [[ -z $words ]] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        ((${#COMPREPLY[@]})) || compopt -o default
        return
    fi
    if [[ $current == -* ]]; then
        words=$(_ompdarts_help "$command" "$subcommand" | sed -n 's/^ \{2,6\}\(-[a-z], \)\{0,1\}\(--[a-z-]*\)\(=\{0,1\}\).*/\2\3/p')
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
        return
    fi
    case $subcommand in
        run | map) [[ -z $current || $current == */* ]] || mapfile -t COMPREPLY < <(compgen -c -- "$current") ;;
        bench) mapfile -t COMPREPLY < <(compgen -W "cholesky lu gemm2d gemm3d" -- "$current") ;;
        history) ((COMP_CWORD > 2)) || mapfile -t COMPREPLY < <(compgen -W "show clear" -- "$current") ;;
        trace) ((COMP_CWORD > 2)) || mapfile -t COMPREPLY < <(compgen -W convert -- "$current") ;;
    esac
    ((${#COMPREPLY[@]})) || compopt -o default
}

complete -F _ompdarts ompdarts
