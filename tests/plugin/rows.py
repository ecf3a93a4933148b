#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""rows.py TSHARK PLUGIN VERSION RPCRDMA CAPTURES TO [BASE]

Writes every field of the plugin in every recording and every version 2 capture, in one pass and in two, to the
folder TO, a file for each; with BASE, such a folder of another release's Wireshark, it compares: the frames that
are RPC-over-RDMA, RPC or malformed, every field that both have, Info, RPC's and NFS's own fields. Prints counts
per field, and fails where any of the plugin's differs, or Wireshark wrote to standard error."""
import collections
import os
import sys

import host

# pylint: disable=wrong-import-order
import generated
import pcap

TO = sys.argv[1]
BASE = sys.argv[2] if len(sys.argv) > 2 else None
WHERE = 'rpcrdma || rpc || _ws.malformed'
FRAME = 'frame.number'
# what other dissectors make of what the plugin hands over, and of the old names
OTHERS = ('_ws.malformed', 'rpc.xid', 'rpc.msgtyp', 'rpc.program', 'rpc.procedure', 'rpc.replystat', 'nfs.opcode',
          'nfs.data', 'nfs.nfsstat4', 'nfs.status3', 'nfs.count4', 'nfs.count3', 'rpcordma.xid',
          'rpcordma.flow_control', 'rpcordma.msg_type', 'rpcordma.segment_count', 'rpcordma.rdma_length',
          'rpcordma.fragment')
INFO = 'Info'
IGNORED = 'Problem opening /proc/'  # a folder of another release has none
BOOLEANS = {'True': '1', 'False': '0'}  # as 4.0 has them


def names():
    rows = (line.split('\t') for line in host.run('-G', 'fields')[0].splitlines())
    return sorted({row[2] for row in rows if row[0] == 'F' and row[2].startswith('rpcrdma.')})


def inputs(folder):
    for name in host.recordings():
        yield name, host.capture(name)
    for name, packets in generated.captures():
        path = os.path.join(folder, f'v2-{name}.pcap')
        pcap.write(path, packets)
        yield f'v2-{name}', path


def dissected(path, columns, passes):
    """Frame -> column -> cell, and what was written to standard error."""
    options = ['-n', '-r', path, '-Y', WHERE, *(['-2'] if passes == 2 else [])]
    fields = [word for name in (FRAME, *columns) for word in ('-e', name)]
    out, err = host.run(*options, '-T', 'fields', '-E', 'separator=\x01', '-E', 'aggregator=\x02', *fields)
    frames = {}
    for line in out.splitlines():
        frame, *cells = line.split('\x01')
        frames[int(frame)] = {name: '\x02'.join(BOOLEANS.get(value, value) for value in cell.split('\x02'))
                              for name, cell in zip(columns, cells) if cell}
    # the list as it is printed: its text is final there, which `_ws.col.info` is not
    out, more = host.run(*options, '-o', 'gui.column.format:"No.","%m","Info","%i"')
    for line in out.splitlines():
        frame, _, info = line.strip().partition(' ')
        frames[int(frame)][INFO] = plain(info)
    return frames, ''.join(line for line in (err + more).splitlines(True) if not line.startswith(IGNORED))


def plain(text):
    return ' '.join(text.replace('\u2192', '>').split())


def write(path, frames):
    with open(path, 'w', encoding='utf-8') as file:
        for frame, cells in frames.items():
            for name, cell in cells.items():
                cell = cell.replace('\n', ' ').replace('\t', ' ')
                file.write(f'{frame}\t{name}\t{cell}\n')


def read(path):
    frames = {}
    with open(path, encoding='utf-8') as file:
        for line in file:
            frame, name, cell = line.rstrip('\n').split('\t')
            frames.setdefault(int(frame), {})[name] = cell
    return frames


def differences(here, base, known):
    """(field, frame, its cells there and here)"""
    for frame in sorted(here.keys() | base.keys()):
        ours, theirs = here.get(frame, {}), base.get(frame, {})
        for name in sorted(ours.keys() | theirs.keys()):
            if (name in known or not name.startswith('rpcrdma.')) and ours.get(name) != theirs.get(name):
                yield name, frame, theirs.get(name), ours.get(name)


def main():
    os.makedirs(TO, exist_ok=True)
    columns = names()
    with open(os.path.join(TO, 'fields'), 'w', encoding='utf-8') as file:
        file.write('\n'.join(columns))
    known = set(columns)
    if BASE:
        with open(os.path.join(BASE, 'fields'), encoding='utf-8') as file:
            other = set(file.read().split('\n'))
        print('fields of one only:', ' '.join(sorted(known ^ other)) or 'none')
        known &= other
    per_field, shown = collections.Counter(), {}
    runs = frames = cells = noise = 0
    for name, path in inputs(TO):
        for passes in (1, 2):
            file = f'{name}-{passes}.tsv'
            here, err = dissected(path, columns + list(OTHERS), passes)
            write(os.path.join(TO, file), here)
            here = read(os.path.join(TO, file))
            runs += 1
            frames += len(here)
            cells += sum(map(len, here.values()))
            if err:
                noise += 1
                print(f'{name}, passes {passes}: {err[:300]}')
            if BASE:
                for field, frame, was, now in differences(here, read(os.path.join(BASE, file)), known):
                    per_field[field] += 1
                    shown.setdefault(field, (name, passes, frame, was, now))
    print(f'{host.VERSION}: {runs} runs, {frames} frames, {cells} cells of {len(known)} fields, '
          f'{sum(per_field.values())} differ')
    for field, count in per_field.most_common():
        print(f'  {field}: {count}, the first {shown[field]}')
    return 1 if noise or any(field.startswith(('rpcrdma.', 'rpcordma.')) for field in per_field) else 0


if __name__ == '__main__':
    sys.exit(main())
