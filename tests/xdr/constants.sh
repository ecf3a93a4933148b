#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# constants.sh X: CONSTANT(name) for each constant and enumerator of an XDR file, but RPC's own.
sed -nE 's/^(const|[[:space:]]+)[[:space:]]*([A-Z][A-Z0-9_]+)[[:space:]]*=[[:space:]]*[0-9].*/\2/p' "$1" |
    grep -vxE 'CALL|REPLY' | sed 's/.*/CONSTANT(&)/'
