# SPDX-License-Identifier: BSD-2-Clause
# bash completion for rpcrdma

_rpcrdma()
{
    local cur prev words cword commands command options
    _init_completion || return
    commands="decode rpcs extract connections credits check capture fields help"
    if ((cword == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$commands --help --version" -- "$cur")
        return
    fi
    command=${words[1]}
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
    --dialect)
        mapfile -t COMPREPLY < <(compgen -W "cel-00 cel-01 cel-02 cel-03 cel-04 cel-08 ietf-00
            ietf-01 ietf-02 ietf-07" -- "$cur")
        return
        ;;
    -i | --interface)
        mapfile -t COMPREPLY < <(compgen -W "$(command ls /sys/class/net /sys/class/infiniband \
            2>/dev/null | grep -v ':$')" -- "$cur")
        return
        ;;
    -f | --filter | -s | --snapshot-length | -B | --buffer-size | -c | --count | --interval | --port | --qpn | --max-memory)
        return
        ;;
    esac
    if [[ $command == help ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur")
    elif [[ $cur == -* ]]; then
        # the command knows its options best
        options=$(rpcrdma "$command" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]*|^  -[a-zA-Z]')
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    elif [[ $command != fields ]]; then
        _filedir '@(pcap|pcapng|cap|gz|zst)'
    fi
} && complete -F _rpcrdma rpcrdma
