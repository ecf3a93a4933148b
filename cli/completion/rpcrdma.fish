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

function __rpcrdma_classes
    printf '%s\n' capture header chunk rpc credit transport upper security
end

function __rpcrdma_rules
    rpcrdma rules 2>/dev/null | string replace -rf '^([a-z0-9-]+) \((.*)\)$' '$1\t$2'
    __rpcrdma_classes
end

# The values of option $argv[1], of which $argv[2] is there; false where it has none.
function __rpcrdma_values
    switch $argv[1]
        case -r --read-file -w --write -o --output --key --series --plot --html --sqlite --textfile --trace
            __fish_complete_path $argv[2]
        case -d --directory --ndjson --csv
            __fish_complete_directories $argv[2]
        case -a --autostop -b --ring-buffer
            printf '%s\n' duration: filesize: files:
        case -t --time
            printf '%s\n' r d e a ad u ud
        case --color
            printf '%s\n' auto always never
        case --time-source
            printf '%s\n' auto capture hardware
        case --tables
            printf '%s\n' captures connections paths rpcs operations messages segments transport_events credit_points findings
        case --sql
            printf '%s\n' clickhouse duckdb
        case --sort
            printf '%s\n' latency time bytes
        case --per
            printf '%s\n' operation client server connection file user
        case --rule --ignore
            __rpcrdma_rules
        case --class
            __rpcrdma_classes
        case --severity
            printf '%s\n' note warning error
        case --fail-on
            printf '%s\n' note warning error never
        case --format
            printf '%s\n' text json junit sarif tap
        case --dialect
            printf '%s\n' cel-00 cel-01 cel-02 cel-03 cel-04 cel-08 ietf-00 ietf-01 ietf-02 ietf-07
        case -i --interface
            command ls /sys/class/net /sys/class/infiniband 2>/dev/null | string match -rv ':$|^$'
        case -c --count --port --qpn --max-memory -f --filter -s --snapshot-length -B --buffer-size -j --jobs
        case --where --trigger --pre --post --hold-off --since --until --top --interval --limit --xid --frame --slow --shift-time --cluster
        case '*'
            return 1
    end
    return 0
end

function __rpcrdma
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    if test (count $words) -lt 2
        __rpcrdma_commands
        printf '%s\t%s\n' --help 'the commands' --version "the program's version"
        return
    end
    if string match -q -- '--*=*' $current
        set -l parts (string split -m 1 = -- $current)
        set -l values (__rpcrdma_values $parts[1] $parts[2])
        and test -n "$values"
        and string replace -r -- '^' $parts[1]= $values
        return
    end
    __rpcrdma_values $words[-1] $current
    and return
    if test $words[2] = help
        __rpcrdma_commands
    else if string match -q -- '-*' $current
        __rpcrdma_options $words[2]
    else if test $words[2] = rules
        __rpcrdma_rules
    else if test $words[2] = fields
        rpcrdma fields 2>/dev/null | string replace -r ' .*' ''
    else
        __fish_complete_suffix $current .pcap .pcapng .cap .gz .zst .xz .bz2 .lz4
    end
end

complete -c rpcrdma -f -a '(__rpcrdma)'
