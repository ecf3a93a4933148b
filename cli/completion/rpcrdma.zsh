#compdef rpcrdma
# SPDX-License-Identifier: BSD-2-Clause
# zsh completion for rpcrdma. The command knows its commands and options best: they come from its help.

_rpcrdma_commands()
{
    local -a commands
    commands=(${(f)"$(rpcrdma --help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\)   *\([^ ].*\)/\1:\2/p')"})
    commands+=('help:what a command does, and its options')
    _describe -t commands command commands
}

_rpcrdma_options()
{
    local -a options
    options=(${(f)"$(rpcrdma $1 --help 2>/dev/null | sed -n \
        -e 's/^  \(-[A-Za-z0-9]\), \(--[a-z-]*\)[^ ]*  *\(.*\)/\1:\3\n\2:\3/p' \
        -e 's/^  \(--[a-z-]*\)[^ ]*  *\(.*\)/\1:\2/p')"})
    _describe -o option options
}

_rpcrdma_rules()
{
    local -a rules
    (( $1 )) && rules=(${(f)"$(rpcrdma rules 2>/dev/null | sed -n 's/^\([a-z0-9-]*\) (\(.*\))$/\1:\2/p')"})
    rules+=(capture header chunk rpc credit transport upper security)
    _describe rule rules
}

# The values of option $1; false where it has none.
_rpcrdma_values()
{
    local -a choices
    case $1 in
    -r | --read-file | -w | --write | -o | --output | --key | --series | --plot | --html | --sqlite | --textfile | --trace) _files ;;
    -d | --directory | --ndjson | --csv) _files -/ ;;
    -a | --autostop | -b | --ring-buffer)
        choices=('duration\::seconds' 'filesize\::kilobytes' 'files\::number of files')
        _describe limit choices -S ''
        ;;
    -t | --time)
        choices=('r:relative to the first packet' 'd:to the line before' 'e:epoch' 'a:local'
            'ad:local, with date' 'u:UTC' 'ud:UTC, with date')
        _describe time choices
        ;;
    --color)
        choices=(auto always never)
        _describe when choices
        ;;
    --time-source)
        choices=(auto capture hardware)
        _describe clock choices
        ;;
    --sort)
        choices=(latency time bytes)
        _describe order choices
        ;;
    --per)
        choices=(operation client server connection file user)
        _describe group choices
        ;;
    --rule | --ignore) _rpcrdma_rules 1 ;;
    --class) _rpcrdma_rules 0 ;;
    --severity)
        choices=(note warning error)
        _describe severity choices
        ;;
    --fail-on)
        choices=(note warning error never)
        _describe severity choices
        ;;
    --tables)
        choices=(captures connections paths rpcs operations messages segments transport_events credit_points findings)
        _describe table choices
        ;;
    --sql)
        choices=(clickhouse duckdb)
        _describe engine choices
        ;;
    --format)
        choices=(text json junit sarif tap)
        _describe format choices
        ;;
    --dialect)
        choices=(cel-00 cel-01 cel-02 cel-03 cel-04 cel-08 ietf-00 ietf-01 ietf-02 ietf-07)
        _describe dialect choices
        ;;
    -i | --interface)
        choices=(/sys/class/net/*(N:t) /sys/class/infiniband/*(N:t))
        _describe interface choices
        ;;
    -c | --count | --port | --qpn | --max-memory | -f | --filter | -s | --snapshot-length) _message value ;;
    -j | --jobs | -B | --buffer-size | --where | --trigger | --pre | --post | --hold-off | --since | --until | --top | --interval | --limit | --xid | --frame | --slow | --shift-time | --cluster)
        _message value
        ;;
    *) return 1 ;;
    esac
    return 0
}

_rpcrdma()
{
    local -a choices
    local option=$words[CURRENT-1]
    if (( CURRENT == 2 )); then
        if [[ $PREFIX == -* ]]; then
            choices=('--help:the commands' "--version:the program's version")
            _describe -o option choices
        else
            _rpcrdma_commands
        fi
        return
    fi
    if [[ $PREFIX == --*=* ]]; then
        option=${PREFIX%%=*}
        compset -P 1 '*='
    fi
    _rpcrdma_values $option && return
    if [[ $words[2] == help ]]; then
        _rpcrdma_commands
    elif [[ $PREFIX == -* ]]; then
        _rpcrdma_options $words[2]
    elif [[ $words[2] == rules ]]; then
        _rpcrdma_rules 1
    elif [[ $words[2] == fields ]]; then
        choices=(${(f)"$(rpcrdma fields 2>/dev/null | cut -d ' ' -f 1)"})
        _describe field choices
    else
        _files -g '*.(pcap|pcapng|cap|gz|zst|xz|bz2|lz4)(-.)'
    fi
}

_rpcrdma "$@"
