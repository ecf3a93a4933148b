#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# examples.sh CMAKE BUILD SOURCE FOLDER COMMAND: the programs of examples/ built with what is installed,
# found by find_package, and run on recordings. The command is what their output is compared with, and
# what two kernels traced: 68 Calls and as many Replies.
set -eu
cmake=$1 build=$2 source=$3 folder=$4 command=$5
capture=$source/captures/roce-nfs3-mini/capture.pcap

rm -rf "$folder"
"$cmake" --install "$build" --prefix "$folder/installed" >/dev/null
"$cmake" -S "$source/examples" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/installed" >/dev/null
"$cmake" --build "$folder/build" >/dev/null
cd "$folder"

build/messages "$capture" >messages
[ "$(grep -c ' client 0x' messages)" = 68 ]
[ "$(grep -c ' server 0x' messages)" = 68 ]
"$command" decode --json "$capture" |
    sed -n 's/.*"frame":\([0-9]*\),.*"credits":\([0-9]*\).*/\1 \2/p' | sort -n >wanted
sed -n 's/^\([0-9]*\) .* credits \([0-9]*\)$/\1 \2/p' messages | sort -n >given
diff wanted given

# a Call and its Reply each change what is in flight, and after the last nothing is
build/credits "$capture" >credits
[ "$(head -n 1 credits)" = frame,time_ns,connection,end,in_flight,granted ]
[ "$(sed 1d credits | cut -d , -f 5 | sort -n | tail -n 1)" -ge 1 ]
[ "$(tail -n 1 credits | cut -d , -f 5)" = 0 ]

build/operations "$capture" >operations
sed 's/.*: \([0-9]*\), median.*/\1/' operations | awk '{ n += $1 } END { exit n != 68 }'
grep -q '^NFS V3 WRITE: ' operations

# what check has, and no more
build/findings "$source/captures/roce-long-call/capture.pcap" >findings
"$command" check --json "$source/captures/roce-long-call/capture.pcap" | grep -o '"rule":"[^"]*"' | sort >wanted || :
sed 's/^[a-z]* \([a-z-]*\):.*/"rule":"\1"/' findings | sort | diff wanted -
[ -s wanted ]

# RDMA2_ERR_WRITE_RESOURCE about chunk 1, of the newest format of version 2; of another format it is not whole
printf '\022\064\126\170\0\0\0\002\0\0\0\040\0\0\0\004\0\0\0\011\0\0\0\001\0\0\020\0' >message
build/header message >header
grep -q '^XID: 0x12345678 (at 0, ' header
grep -q '^  Chunk index: 1 (at 20, ' header
! build/header message ietf-01 >header
grep -q '^not valid at byte 28: ' header

# a program that is given no file, or none that is one, says so
! build/messages 2>said
grep -q usage said
! build/credits /dev/null 2>said
[ -s said ]
! build/header message nothing 2>said
grep -q usage said
