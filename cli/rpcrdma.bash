# SPDX-License-Identifier: BSD-2-Clause
# bash completion for rpcrdma. The command knows its commands and options best: they come from its help.

_rpcrdma_commands()
{
    rpcrdma --help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p'
    echo help
}

_rpcrdma_options()
{
    rpcrdma "$1" --help 2>/dev/null |
        sed -n 's/^  \(-[A-Za-z0-9]\), \(--[a-z-]*\).*/\1\n\2/p; s/^  \(--[a-z-]*\).*/\1/p'
}

_rpcrdma()
{
    local cur prev words cword
    _init_completion || return
    if ((cword == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$(_rpcrdma_commands) --help --version" -- "$cur")
        return
    fi
    case $prev in
    -r | --read-file | -w | --write | --series | --plot)
        _filedir
        return
        ;;
    -d | --directory)
        _filedir -d
        return
        ;;
    -a | --autostop | -b | --ring-buffer)
        mapfile -t COMPREPLY < <(compgen -W "duration: filesize: files:" -- "$cur")
        return
        ;;
    -t | --time)
        mapfile -t COMPREPLY < <(compgen -W "r d e a ad u ud" -- "$cur")
        return
        ;;
    --sort)
        mapfile -t COMPREPLY < <(compgen -W "latency time bytes" -- "$cur")
        return
        ;;
    --per)
        mapfile -t COMPREPLY < <(compgen -W "operation client server connection file user" -- "$cur")
        return
        ;;
    --rule | --ignore)
        mapfile -t COMPREPLY < <(compgen -W "$(rpcrdma rules 2>/dev/null |
            sed -n 's/^\([a-z0-9-]*\) (.*/\1/p')" -- "$cur")
        return
        ;;
    --class)
        mapfile -t COMPREPLY < <(compgen -W "capture header chunk rpc credit transport upper
            security" -- "$cur")
        return
        ;;
    --severity | --fail-on)
        mapfile -t COMPREPLY < <(compgen -W "note warning error" -- "$cur")
        return
        ;;
    --format)
        mapfile -t COMPREPLY < <(compgen -W "text json junit sarif tap" -- "$cur")
        return
        ;;
    --dialect)
        mapfile -t COMPREPLY < <(compgen -W "cel-00 cel-01 cel-02 cel-03 cel-04 cel-08 ietf-00
            ietf-01 ietf-02 ietf-07" -- "$cur")
        return
        ;;
    -i | --interface)
        mapfile -t COMPREPLY < <(compgen -W "$(command ls /sys/class/net /sys/class/infiniband \
            2>/dev/null | grep -v ':$' | sort -u)" -- "$cur")
        return
        ;;
    -f | --filter | -s | --snapshot-length | -B | --buffer-size | -c | --count | --interval | --port | --qpn | --max-memory | --where | --since | --until | --top)
        return
        ;;
    esac
    if [[ ${words[1]} == help ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_rpcrdma_commands)" -- "$cur")
    elif [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_rpcrdma_options "${words[1]}")" -- "$cur")
    elif [[ ${words[1]} == rules ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(rpcrdma rules 2>/dev/null |
            sed -n 's/^\([a-z0-9-]*\) (.*/\1/p')" -- "$cur")
    elif [[ ${words[1]} != fields ]]; then
        _filedir '@(pcap|pcapng|cap|gz|zst)'
    fi
} && complete -F _rpcrdma rpcrdma
