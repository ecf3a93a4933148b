# SPDX-License-Identifier: BSD-2-Clause
"""Checks the arrows of docs/architecture.md against the sources of codec/.

The document's table says, for every folder of codec/, which folders it uses. Two things must agree
with it: what each file includes, and which symbols each object takes from another folder's objects.
Of a stage of flow/, other folders include only its contract, the header named in the table."""

import argparse
import collections
import os
import re
import subprocess
import sys


def read_table(path):
    """Part -> (contract header or None, set of parts it uses); file or folder -> its part."""
    table, parts = {}, {}
    for line in open(path, encoding="utf-8"):
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        names = re.findall(r"`([a-z_/.]+)`", cells[0])
        if len(cells) != 4 or not names:
            continue
        uses = set(re.findall(r"`([a-z_/.]+)`", cells[2]))
        contract = re.fullmatch(r"`([a-z_/.]+\.h)`", cells[1])
        table[names[0]] = (contract and contract.group(1), uses)
        parts.update((name, names[0]) for name in names)
    return table, parts


def folder_of(name, parts):
    """The part of the table that a file belongs to: it is named there, or its folder is."""
    while name and name not in parts:
        name = os.path.dirname(name)
    return parts[name or "."]


def include_breaches(codec, table, parts):
    for directory, _, names in os.walk(codec):
        for name in sorted(n for n in names if n.endswith((".c", ".h"))):
            path = os.path.relpath(os.path.join(directory, name), codec)
            mine = folder_of(path, parts)
            for header in re.findall(r'^\s*#\s*include\s+"([^"]+)"',
                                     open(os.path.join(codec, path), encoding="utf-8").read(), re.M):
                # public headers name each other from where they are: they need no -I
                beside = os.path.normpath(os.path.join(os.path.dirname(path), header))
                if os.path.exists(os.path.join(codec, beside)):
                    header = beside
                elif header == "version.h":  # made of version.h.in
                    continue
                theirs = folder_of(header, parts)
                if not os.path.exists(os.path.join(codec, header)):
                    yield f"{path} includes {header}: not found from codec/"
                elif theirs == mine:
                    continue
                elif theirs not in table[mine][1]:
                    yield f"{path} includes {header}"
                elif table[theirs][0] and header != table[theirs][0]:
                    yield f"{path} includes {header}, not {table[theirs][0]}"


def call_breaches(nm, objects, table, parts):
    defined, wanted = {}, collections.defaultdict(set)
    for path in objects:
        name = os.path.normpath(path.split("rpcrdma_objects.dir/", 1)[1]).rsplit(".c.", 1)[0] + ".c"
        for line in subprocess.run([nm, "-g", path], check=True, capture_output=True,
                                   text=True).stdout.splitlines():
            kind, symbol = line.split()[-2:]
            if kind == "U":
                wanted[name].add(symbol)
            elif kind in "TDBRVW":
                defined[symbol] = name
    if len(defined) < 100:
        sys.exit(f"{nm} finds {len(defined)} symbols only: nothing was checked")
    for name in sorted(wanted):
        mine = folder_of(name, parts)
        for symbol in sorted(wanted[name]):
            theirs = folder_of(defined.get(symbol, name), parts)
            if theirs != mine and theirs not in table[mine][1]:
                yield f"{name} calls {symbol} of {defined[symbol]}"


def circles(table):
    """Folders that reach themselves."""
    for start in table:
        seen, todo = set(), list(table[start][1])
        while todo:
            folder = todo.pop()
            if folder not in seen:
                seen.add(folder)
                todo += table[folder][1]
        if start in seen:
            yield f"{start} uses itself by way of others"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--codec", required=True)
    parser.add_argument("--table", required=True)
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--objects", required=True, help="file with one object per line")
    args = parser.parse_args()

    table, parts = read_table(args.table)
    if not {".", "base", "wire", "flow", "flow/stream"} <= table.keys():
        sys.exit(f"{args.table}: the table of folders was not found")
    objects = open(args.objects, encoding="utf-8").read().split()
    found = set(circles(table)) | set(include_breaches(args.codec, table, parts))
    found |= set(call_breaches(args.nm, objects, table, parts))
    for breach in sorted(found):
        print("against the arrows:", breach)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
