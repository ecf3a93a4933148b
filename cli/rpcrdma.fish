# SPDX-License-Identifier: BSD-2-Clause
# fish completion for rpcrdma. The command knows its commands and options best: they come from its help.

function __rpcrdma_commands
    rpcrdma --help 2>/dev/null | string replace -rf '^  ([a-z][a-z-]*)  +(.*)$' '$1\t$2'
    printf '%s\t%s\n' help 'what a command does, and its options'
end

function __rpcrdma_options
    set -l help (rpcrdma $argv[1] --help 2>/dev/null)
    string replace -rf '^  (-[A-Za-z0-9]), --\S+ +(.*)$' '$1\t$2' -- $help
    string replace -rf '^  (?:-[A-Za-z0-9], )?(--[a-z-]+)\S* +(.*)$' '$1\t$2' -- $help
end

function __rpcrdma
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    if test (count $words) -lt 2
        __rpcrdma_commands
        printf '%s\t%s\n' --help 'the commands' --version "the program's version"
        return
    end
    switch $words[-1]
        case -r --read-file -w --write --series --plot
            __fish_complete_path $current
        case -d --directory
            __fish_complete_directories $current
        case -a --autostop -b --ring-buffer
            printf '%s\n' duration: filesize: files:
        case -t --time
            printf '%s\n' r d e a ad u ud
        case --dialect
            printf '%s\n' cel-00 cel-01 cel-02 cel-03 cel-04 cel-08 ietf-00 ietf-01 ietf-02 ietf-07
        case -i --interface
            command ls /sys/class/net /sys/class/infiniband 2>/dev/null | string match -rv ':$|^$'
        case -f --filter -s --snapshot-length -B --buffer-size -c --count --interval --port --qpn --max-memory
            return
        case '*'
            if test $words[2] = help
                __rpcrdma_commands
            else if string match -q -- '-*' $current
                __rpcrdma_options $words[2]
            else if not contains $words[2] fields rules
                __fish_complete_suffix $current .pcap .pcapng .cap .gz .zst
            end
    end
end

complete -c rpcrdma -f -a '(__rpcrdma)'
