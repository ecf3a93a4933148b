#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh SOURCE FOLDER OP_LIST MESSAGE_LIST COMPILE [RUN]: builds the library's sources and test tools for
# another machine with COMPILE and compares what they make of every recording, run by RUN, with what this
# machine's OP_LIST and MESSAGE_LIST make of it; then replays the fuzzers' inputs there.
#   gcc -m32:                   32 bits       (Debian: lib32gcc-12-dev libc6-dev-i386)
#   s390x-linux-gnu-gcc qemu-s390x-static: big-endian (gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user-static)
set -eu
source=$1 folder=$2 op_list=$3 message_list=$4 compile=$5 run=${6:-}

command -v "${compile%% *}" >/dev/null || { echo "${compile%% *} is not installed: skipped"; exit 77; }
[ -z "$run" ] || command -v "${run%% *}" >/dev/null || { echo "${run%% *} is not installed: skipped"; exit 77; }
mkdir -p "$folder"
cd "$folder"
echo 'int main(void) { return 0; }' >probe.c
# shellcheck disable=SC2086
$compile probe.c -o probe 2>/dev/null || { echo "$compile has no C library here: skipped"; exit 77; }

# shellcheck disable=SC2086,SC2046
build()
{
    out=$1
    shift
    $compile -std=c11 -O1 -Wall -Wextra -Wconversion -Werror -fno-strict-aliasing -D_GNU_SOURCE -I"$source/codec" \
        -I"$source/tests" "$@" librpcrdma.a -o "$out"
}

rm -rf objects
mkdir objects
for file in $(cd "$source/codec" && find . -name '*.c'); do
    name=$(echo "${file#./}" | tr / _)
    # shellcheck disable=SC2086
    $compile -std=c11 -O1 -Wall -Wextra -Wconversion -Werror -I"$source/codec" -c "$source/codec/$file" -o "objects/${name%.c}.o"
done
rm -f librpcrdma.a
ar rcs librpcrdma.a objects/*.o
build op_list "$source/tests/net/op_list.c"
build message_list "$source/tests/flow/message_list.c"
for target in message packet pipeline; do
    build "replay_$target" "$source/tests/fuzz/replay.c" "$source/tests/fuzz/$target.c"
done

n=0
for capture in "$source"/captures/*/capture.pcap; do
    # shellcheck disable=SC2086
    $run ./op_list "$capture" >there && "$op_list" "$capture" >here
    cmp here there
    # shellcheck disable=SC2086
    $run ./message_list "$capture" >there && "$message_list" "$capture" >here
    cmp here there
    [ -s here ]
    n=$((n + 1))
done
python3 "$source/tests/fuzz/seeds.py" seeds "$source"/captures/*/capture.pcap
for target in message packet pipeline; do
    mkdir -p found/"$target"
    tar -xJf "$source/tests/fuzz/found/$target.tar.xz" -C found/"$target"
    # shellcheck disable=SC2046,SC2086
    $run "./replay_$target" -m 20 seeds/"$target"/* $(find "$source/tests/fuzz/corpus/$target" found/"$target" -type f 2>/dev/null) >/dev/null
done
echo "$compile: the same on $n recordings"
[ "$n" -gt 0 ]
