#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rules_test.py RPCRDMA: of each pair of captures that captures/generate/rules.py makes, `check` finds the rule in
the one that breaks it, says so with its frame, and not in the one that nearly does. Nothing else is found that
would make a reader look at the wrong thing."""
import functools
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'tools'), os.path.join(HERE, '..', '..', 'captures', 'generate')]
# pylint: disable=wrong-import-position
import pcap
import rule_table
import rule_talk
import rules
import sample
import variants


@functools.lru_cache(maxsize=None)
def findings(rpcrdma, path):
    run = subprocess.run([rpcrdma, 'check', '-n', '--check-icrc', '--json', path], capture_output=True, check=False, timeout=60)
    if run.returncode not in (0, 1):
        raise ValueError(f'{path}: {run.stderr.decode()}')
    found = []
    for line in run.stdout.decode().splitlines():
        line = json.loads(line)
        for one in line.get('findings', []):
            if one['severity'] != 'note' and not (one.get('frame') or line.get('frame') or line.get('call_frame') or line.get('reply_frame')):
                raise ValueError(f'{path}: {one["rule"]} without a frame')
            found.append(one)
    return found


def serious(found):
    """rpc-error is how a Responder answers what it cannot take."""
    return {one['rule'] for one in found if one['severity'] != 'note'} - {'rpc-error'}


def problems(rpcrdma, folder, rule, companions, near):
    broken = findings(rpcrdma, os.path.join(folder, 'breaks.pcap'))
    nearly = findings(rpcrdma, os.path.join(folder, 'nearly.pcap'))
    told = [one for one in broken if one['rule'] == rule]
    if len(told) != 1:
        yield f'broken, and told {len(told)} times; found {sorted(one["rule"] for one in broken)}'
    if serious(broken) - {rule} != companions - {rule}:
        yield f'broken: {sorted(serious(broken) - {rule})} as well, not {sorted(companions)}'
    if rule in {one['rule'] for one in nearly}:
        yield 'nearly broken, and told'
    if serious(nearly) != near:
        yield f'nearly broken: {sorted(serious(nearly))}, not {sorted(near)}'


# What the finding has to say beyond its name: byte offset in the Send (None: no place), value, which transmission of how
# many (None: not known), as they follow from how the captures are made: a header without chunks has 28 bytes, a Call's
# RPC header 40; the Write list begins at 20, its first chunk's count word at 24, its first segment at 28.
TOLD = {
    'malformed': (12, 5, (1, 1)), 'malformed-2': (4, 7, (1, 1)), 'malformed-3': (28, 2, (1, 1)),
    'write-pad': (24, 4096, (1, 1)), 'returned-shorter': (28, 4092, (1, 1)), 'data-missing': (28, 4096, (1, 1)),
    'rpc-returned-longer': (28, 4097, (1, 1)), 'segment-order': (44, 2048, (1, 1)),
    'write-chunk-unneeded': (24, 1, (1, 1)), 'write-chunks-beyond': (48, 2, (1, 1)),
    'slot-beyond': (28 + 40 + 12 + 24, 1, (1, 1)), 'session-operations': (28 + 40 + 8, 3, (1, 1)),
    'compound-operation': (28 + 40 + 12 + 36 + 4, 76, (1, 1)), 'handle-shared': (28, 0x1001, (1, 1)),
    'arg-not-eligible': (20, 40 + 4 + 32 + 4, (1, 1)),
    'arg-not-eligible-4': (20 + 24, 40 + 4 + 32 + 20 + 4096, (1, 1)),
    'chunk-count': (48, 2, (1, 1)), 'program-unbound': (28 + 12, 100005, (1, 1)), 'auth-tls': (28 + 24, 7, (1, 1)),
    'slot-sequence': (28 + 40 + 12 + 20, 3, (1, 1)),
    # version 2: rdma_inv_handle, the Read list, and the second segment of a Write list
    'inv-handle-unoffered': (16, 0x77, (1, 1)), 'call-chunk-position-2': (20, None, (1, 1)),
    'segments-beyond-2': (48, 0x1002, (1, 1)),
    'call-undelivered': (None, 2, (2, 2)), 'reply-undelivered': (None, 2, (2, 2)),
}


# The value stands at the offset, in a Send of one packet.
THERE = ('arg-not-eligible', 'arg-not-eligible-4', 'auth-tls', 'program-unbound', 'slot-sequence', 'slot-sequence-2',
         'slot-beyond', 'xid-mismatch', 'compound-operation', 'rpc-error', 'rpc-error-2', 'inv-handle-unoffered',
         'grant-xid')


def elsewhere(rpcrdma, folder):
    for name in THERE:
        path = os.path.join(folder, name, 'breaks.pcap')
        packets, _ = pcap.read(path)
        one, = [one for one in of_calls(rpcrdma, path) if one['rule'] == rule_of(name)]
        send = packets[one['frame'] - 1].data[14 + 20 + 8 + 12:]
        if send[one['offset']:one['offset'] + 4] != struct.pack('>I', one['value']):
            yield f'{name}: {one["value"]} is not at {one["offset"]}'


def of_which_transmission(rpcrdma, folder):
    """A Call is sent on one connection after another, on the second one twice, by the transport: each finding is about
    the transmission that its frame holds, what is wrong with the Call and what is wrong with its header."""
    talk = rule_talk.Conversation()
    sent, xid, write = [], None, None
    for number in (1, 2, 3):
        if number > 1:
            talk.talk.disconnect()
            talk = rule_talk.Conversation(talk.packets, number=number, clock=talk.clock, hosts=talk.hosts)
        talk.null()
        write = write or talk.memory.chunk(4096)
        before = len(talk.packets)
        xid = talk.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid, write=[write], credit=0)
        if number == 2:
            again = talk.packets[before]
            del talk.packets[before + 1:]
            talk.clock.now += 10**8
            talk.packets.append(again._replace(frame=len(talk.packets) + 1, time_ns=talk.clock.tick(),
                                               data=variants.with_ip_id(again.data, 1)))
            talk.server.msn -= 1
            talk.talk.acknowledge(talk.server)
        sent.append(before + 1)
    talk.reply(xid, bytes(4) + rule_talk.ATTRIBUTES, write=[[{**write[0], 'length': 0}]])
    path = os.path.join(folder, 'thrice.pcap')
    pcap.write(path, talk.packets)
    want = {(sent[0], 1), (sent[1], 2), (sent[2], 4)}
    for rule in ('write-chunk-unneeded', 'credit-request-zero'):
        told = {(one['frame'], one['transmission']) for one in of_calls(rpcrdma, path) if one['rule'] == rule}
        if told != want:
            yield f'transmissions of {rule}: told {sorted(told)}, not {sorted(want)}'


def of_calls(rpcrdma, path):
    """Findings, with the frame of their Call where they name none."""
    run = subprocess.run([rpcrdma, 'check', '-n', '--json', path], capture_output=True, check=False, timeout=60)
    for line in run.stdout.decode().splitlines():
        line = json.loads(line)
        for one in line.get('findings', []):
            yield {'frame': line.get('call_frame') or line.get('frame'), **one}


# Of the rules that are a note where something may be missing: the pairs in which it is, and those in which nothing is.
NOTES = {'slot-in-use': {'slot-in-use-3'}, 'slot-sequence': {'slot-sequence-4', 'slot-sequence-6'},
         'retransmission-differs': {'retransmission-differs-3'}}

SURE = {'retransmission-differs': 'error', 'retransmission-differs-4': 'warning'}


def unsure(rpcrdma, folder):
    for name, (rule, _, _, _) in rule_talk.named():
        if rule in NOTES:
            have = {one['severity'] for one in findings(rpcrdma, os.path.join(folder, name, 'breaks.pcap'))
                    if one['rule'] == rule}
            if have != {'note' if name in NOTES[rule] else SURE.get(name, SURE.get(rule, 'warning'))}:
                yield f'{name}: {sorted(have)}'


def untold(rpcrdma, folder):
    for name, (offset, value, transmission) in TOLD.items():
        rule = rule_of(name)
        one, = [one for one in findings(rpcrdma, os.path.join(folder, name, 'breaks.pcap')) if one['rule'] == rule]
        have = (one.get('offset'), one.get('value'),
                (one['transmission'], one['transmissions']) if 'transmission' in one else None)
        if have != (offset, value, transmission):
            yield f'{name}: told {have}, not {(offset, value, transmission)}'


# Rules without a pair of captures, and where they are tested.
WITHOUT = {
    'memory-limit': 'of --max-memory: tests/fault/hostile_test.py',
    'rpc-dropped': 'of --max-memory: tests/unit/flow/rpc/trouble.c',
    'threshold-assumed': 'of connections: tests/cli/out/views_test.py',
    'connection-merged': 'how two halves are found to be one hangs on what they were taken for: '
                         'tests/unit/flow/conn/merge.c',
}


def incomplete():
    rules_there = rule_table.names(os.path.join(HERE, '..', '..'))
    have = {rule for rule, _, _, _ in rule_talk.CASES}
    for rule in sorted(rules_there - have - set(WITHOUT)):
        yield f'{rule}: no pair of captures'
    for rule in sorted(have & set(WITHOUT) | set(WITHOUT) - rules_there | have - rules_there):
        yield f'{rule}: has a pair of captures, or is no rule'


def unread(rpcrdma, folder):
    """Lines that nobody can read: what one RPC came to is left out, or a comma stands alone."""
    for name, _ in list(rule_talk.named())[::sample.EVERY]:
        path = os.path.join(folder, name, 'breaks.pcap')
        run = subprocess.run([rpcrdma, 'rpcs', path], capture_output=True, check=False, timeout=60)
        for line in run.stdout.decode().splitlines():
            if not re.search(r' XID 0x\w{8} (\d|-\d|RDMA error|no Call|no Reply|Reply not delivered|latency not known)', line):
                yield f'{name}: {line}'


def rule_of(name):
    return {name: rule for name, (rule, _, _, _) in rule_talk.named()}[name]


def of_true_icrcs(rpcrdma, folder):
    """What the ICRC alone shows is told where ICRCs are true, by a sample of them, and else not."""
    path = os.path.join(folder, 'retransmission-differs-2', 'breaks.pcap')
    packets, linktype = pcap.read(path)
    other = os.path.join(folder, 'zeros.pcap')
    pcap.write(other, [one._replace(data=one.data[:-4] + bytes(4)) for one in packets], linktype)
    for path, want in ((path, 1), (other, 0)):
        told = [one['rule'] for one in of_calls(rpcrdma, path)].count('retransmission-differs')
        if told != want:
            yield f'{path}: {told} times retransmission-differs, not {want}'


def main():
    rpcrdma, failed = sys.argv[1], []
    with tempfile.TemporaryDirectory() as folder:
        sys.argv[1:] = [folder]
        rules.main()
        for name, (rule, _, companions, near) in rule_talk.named():
            failed += [f'{name}: {problem}'
                       for problem in problems(rpcrdma, os.path.join(folder, name), rule, companions, near)]
        failed += untold(rpcrdma, folder)
        failed += of_which_transmission(rpcrdma, folder)
        failed += elsewhere(rpcrdma, folder)
        failed += unsure(rpcrdma, folder)
        failed += unread(rpcrdma, folder)
        failed += of_true_icrcs(rpcrdma, folder)
        failed += incomplete()
    print(f'{len(rule_talk.CASES)} pairs')
    sys.exit('\n'.join(failed) if failed else 0)


if __name__ == '__main__':
    main()
