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

_rpcrdma_rules()
{
    rpcrdma rules 2>/dev/null | sed -n 's/^\([a-z0-9-]*\) (.*/\1/p'
    echo "capture header chunk rpc credit transport upper security"
}

# The values of option $1 of command $2; false where it has none.
_rpcrdma_values()
{
    case $1 in
    -a | --autostop | -b | --ring-buffer) echo "duration: filesize: files:" ;;
    -t | --time) echo "r d e a ad u ud" ;;
    --color) echo "auto always never" ;;
    --time-source) echo "auto capture hardware" ;;
    --sort) echo "latency time bytes" ;;
    --per) echo "operation client server connection file user" ;;
    --rule | --ignore) _rpcrdma_rules ;;
    --class) echo "capture header chunk rpc credit transport upper security" ;;
    --severity) echo "note warning error" ;;
    --fail-on) echo "note warning error never" ;;
    --tables) echo "captures connections paths rpcs operations messages segments transport_events credit_points findings" ;;
    --sql) echo "clickhouse duckdb" ;;
    --format) echo "text json junit sarif tap" ;;
    --dialect) echo "cel-00 cel-01 cel-02 cel-03 cel-04 cel-08 ietf-00 ietf-01 ietf-02 ietf-07" ;;
    -i | --interface)
        command ls /sys/class/net /sys/class/infiniband 2>/dev/null | grep -v ':$' | sort -u
        ;;
    -c | --count | --port | --qpn | --max-memory | -f | --filter | -s | --snapshot-length) ;;
    -j | --jobs | -B | --buffer-size | --where | --trigger | --pre | --post | --hold-off | --since | --until | --top | --interval | --limit | --xid | --frame | --slow | --shift-time | --cluster) ;;
    *) return 1 ;;
    esac
}

_rpcrdma()
{
    local cur prev words cword split values
    _init_completion -s || return
    if ((cword == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$(_rpcrdma_commands) --help --version" -- "$cur")
        return
    fi
    case $prev in
    -r | --read-file | -w | --write | -o | --output | --key | --series | --plot | --html | --sqlite | --textfile | --trace)
        _filedir
        return
        ;;
    -d | --directory | --ndjson | --csv)
        _filedir -d
        return
        ;;
    -*)
        if values=$(_rpcrdma_values "$prev"); then
            mapfile -t COMPREPLY < <(compgen -W "$values" -- "$cur")
            [[ ${COMPREPLY[0]-} != *: ]] || compopt -o nospace 2>/dev/null
            return
        fi
        ;;
    esac
    case ${words[1]} in
    help) values=$(_rpcrdma_commands) ;;
    rules) values=$(_rpcrdma_rules) ;;
    fields) values=$(rpcrdma fields 2>/dev/null | cut -d ' ' -f 1) ;;
    *) values= ;;
    esac
    if [[ $cur == -* && ${words[1]} != help ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_rpcrdma_options "${words[1]}")" -- "$cur")
    elif [[ $values ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$cur")
    else
        _filedir '@(pcap|pcapng|cap|gz|zst|xz|bz2|lz4)'
    fi
} && complete -F _rpcrdma rpcrdma
