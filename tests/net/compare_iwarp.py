#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""compare_iwarp.py OP_LIST FOLDER...

Compares the iWARP operations that net/ finds in every FOLDER/*/capture.pcap with the FPDUs that tshark
finds: opcode, last flag, queue, MSN, offset, STags, lengths, and the packet that completes each. Exit
status 77, "skipped", where there is no tshark.
"""
import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
# pylint: disable=wrong-import-position
import tshark

KINDS = {0: 'write', 1: 'read_request', 2: 'read_response', 3: 'send', 4: 'send', 5: 'send', 6: 'send',
         7: 'terminate'}
WANTED = {'iwarp_mpa.ulpdulength', 'iwarp_rdma.opcode', 'iwarp_ddp.last_flag', 'iwarp_ddp.msn',
          'iwarp_ddp.mo', 'iwarp_ddp.stag', 'iwarp_ddp.tagged_offset', 'iwarp_rdma.inval_stag',
          'iwarp_rdma.sinkstag', 'iwarp_rdma.sinkto', 'iwarp_rdma.rdmardsz', 'iwarp_rdma.srcstag',
          'iwarp_rdma.srcto'}


def fpdus(path):
    """One dictionary per FPDU, in tshark's order."""
    command = ['-o', 'tcp.reassemble_out_of_order:TRUE', '-Y', 'iwarp_mpa',
               '-T', 'pdml', '-J', 'frame ip tcp iwarp_mpa iwarp_ddp_rdmap']
    found, frame, port, length, one = [], 0, 0, [], None
    with tshark.start(path, *command) as run:
        for line in run.stdout:
            name = line.partition('name="')[2].partition('"')[0]
            show = line.partition(' show="')[2].partition('"')[0]
            if name == 'frame.number':
                frame, length = int(show), []
            elif name == 'tcp.srcport':
                port = int(show)
            elif name == 'iwarp_mpa.ulpdulength':
                length.append(int(show))
            elif name == 'iwarp_ddp_rdmap':
                one = {'frame': frame, 'src_port': port, 'length': length.pop(0)}
                found.append(one)
            elif name in WANTED and one is not None:
                one[name.rpartition('.')[2]] = int(show.replace(':', ''), 16) if ':' in show else tshark.number(show)
    assert run.returncode == 0
    return found


def expected(path):
    out = []
    for f in fpdus(path):
        kind = KINDS[f['opcode']]
        op = {'frame': f['frame'], 'src_port': f['src_port'], 'kind': kind}
        flags = f['last_flag'] << 1 | (f['opcode'] in (5, 6)) << 2 | (f['opcode'] in (4, 6)) << 4
        op['length'] = f['length'] - (18 if 'msn' in f else 14)
        if 'msn' in f:
            op.update(seq=f['msn'], mo=f['mo'])
            flags |= f['mo'] == 0
        if kind == 'send':
            op['inv'] = f.get('inval_stag', 0)
        elif kind == 'read_request':
            op.update(sink_stag=f['sinkstag'], sink_offset=f['sinkto'], dmalen=f['rdmardsz'],
                      rkey=f['srcstag'], va=f['srcto'])
            op['length'] = 0
            flags |= 1 << 6
        elif kind in ('write', 'read_response'):
            op['rkey' if kind == 'write' else 'sink_stag'] = f['stag']
            op['va'] = f['tagged_offset']
            flags |= 1 << 6
        op['flags'] = flags
        out.append({key: str(value) for key, value in op.items()})
    return out


def listed(op_list, path):
    out = []
    run = subprocess.run([op_list, '-c', path], stdout=subprocess.PIPE, check=True, text=True)
    for line in run.stdout.splitlines():
        words = dict(word.split('=', 1) for word in line.split(' ') if '=' in word)
        if 'finding' in words:
            raise SystemExit(f'{path}: a finding in a good recording: {line}')
        if 'src_port' not in words or words['kind'] in ('connect', 'accept', 'disconnect', 'reset'):
            continue
        flags = int(words['flags'], 16)
        if words['kind'] in ('write', 'read_response'):
            flags &= ~1  # that a tagged segment is the first is nothing its header says
        words['flags'] = str(flags)
        words['length'] = words['len']
        assert words['len'] == words['caplen']
        out.append(words)
    return out


def main():
    if tshark.missing():
        print('SKIPPED: no tshark to compare with')
        return 77
    op_list, folders = sys.argv[1], sys.argv[2:]
    paths = sorted(p for d in folders for p in glob.glob(os.path.join(d, 'iwarp-*', 'capture.pcap')))
    wrong = total = 0
    for path in paths:
        # each direction in its order; tshark and we may order the two directions of a packet's time anew
        theirs = sorted(expected(path), key=lambda op: (op['src_port'], int(op['frame'])))
        ours = sorted(listed(op_list, path), key=lambda op: (op['src_port'], int(op['frame'])))
        differences = []
        if len(theirs) != len(ours):
            differences.append(f'tshark has {len(theirs)} FPDUs, we have {len(ours)}')
        for n, (a, b) in enumerate(zip(theirs, ours)):
            if any(b.get(key) != value for key, value in a.items()):
                differences.append(f'FPDU {n}: tshark {a}\n      we {dict((k, b.get(k)) for k in a)}')
        print(f'{path}: {len(theirs)} FPDUs, {len(differences)} differences')
        for line in differences[:5]:
            print('    ' + line)
        wrong += len(differences)
        total += len(theirs)
    if total == 0:
        print(f'no FPDU in {folders}: nothing was compared')
        return 1
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
