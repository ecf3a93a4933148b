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

_rpcrdma()
{
    local -a choices
    if (( CURRENT == 2 )); then
        if [[ $PREFIX == -* ]]; then
            choices=('--help:the commands' "--version:the program's version")
            _describe -o option choices
        else
            _rpcrdma_commands
        fi
        return
    fi
    case $words[CURRENT-1] in
    -r | --read-file | -w | --write | --series | --plot) _files ;;
    -d | --directory) _files -/ ;;
    -a | --autostop | -b | --ring-buffer)
        choices=('duration\::seconds' 'filesize\::kilobytes' 'files\::number of files')
        _describe limit choices
        ;;
    -t | --time)
        choices=('r:relative to the first packet' 'd:to the line before' 'e:epoch' 'a:local'
            'ad:local, with date' 'u:UTC' 'ud:UTC, with date')
        _describe time choices
        ;;
    --dialect)
        choices=(cel-00 cel-01 cel-02 cel-03 cel-04 cel-08 ietf-00 ietf-01 ietf-02 ietf-07)
        _describe dialect choices
        ;;
    -i | --interface)
        choices=(/sys/class/net/*(N:t) /sys/class/infiniband/*(N:t))
        _describe interface choices
        ;;
    -f | --filter | -s | --snapshot-length | -B | --buffer-size | -c | --count | --interval | --port | \
        --qpn | --max-memory) _message value ;;
    *)
        if [[ $words[2] == help ]]; then
            _rpcrdma_commands
        elif [[ $PREFIX == -* ]]; then
            _rpcrdma_options $words[2]
        elif [[ $words[2] != (fields|rules) ]]; then
            _files -g '*.(pcap|pcapng|cap|gz|zst)(-.)'
        fi
        ;;
    esac
}

_rpcrdma "$@"
