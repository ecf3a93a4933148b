#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# exports.sh NM LIBRARY: the library exports functions named rpcrdma_*, some, and nothing else.
set -eu
names=$("$1" -D --defined-only "$2" | awk '{ sub(/@.*/, "", $NF); print $NF }' | grep -v '^RPCRDMA_[0-9]*$')
strangers=$(echo "$names" | grep -v '^rpcrdma_' || true)
if [ -n "$strangers" ]; then
    echo "exported, but not ours to export:" >&2
    echo "$strangers" >&2
    exit 1
fi
echo "$names" | grep -q '^rpcrdma_rule$'
