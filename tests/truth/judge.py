# SPDX-License-Identifier: BSD-2-Clause
"""decode --json against the second opinion (tests/tools/wire.py), line by line and key by key."""
from collections import defaultdict

# Keys that the message's own bytes settle: equal, and absent where the bytes cannot tell.
FROM_BYTES = ('xid', 'version', 'credits', 'type', 'header_length', 'payload_length', 'invalidate',
              'read', 'write', 'reply', 'error', 'align', 'thresh')
FROM_PACKETS = ('time_ns', 'src', 'dst', 'dst_qpn')
# Keys that the CM exchange settles; without it they are right, or said not to be known.
FROM_PAIRING = {'sender': 'unknown', 'src_qpn': None, 'direction': None}


def rules(line):
    return {finding['rule'] for finding in line.get('findings', [])}


def is_prefix(shorter, longer):
    """Lists of segments, or of chunks of segments, that end early."""
    if not isinstance(shorter, list):
        return shorter == longer
    if len(shorter) > len(longer):
        return False
    return all(is_prefix(a, b) for a, b in zip(shorter, longer))


class Judge:
    """hedged(message): True where this message's connection may be known in part only. holes: packets
    are missing; then a message may be held back until the hole before it on its connection is settled."""

    def __init__(self, expected, lines, hedged=lambda message: False, holes=False):
        self.complaints = []
        self.hedged = hedged
        self.hedges = defaultdict(int)
        self.procedures = {}
        # a finding that belongs to no message has a line of its own
        for line in lines:
            if 'sender' not in line and ('xid' in line or 'type' in line or not line.get('findings')):
                self.complain(line.get('frame'), f'neither a message nor a finding: {line}')
        lines = [line for line in lines if 'sender' in line]
        by_frame = defaultdict(list)
        for line in lines:
            by_frame[line['frame']].append(line)
        for number in {line.get('connection') for line in lines} if holes else (None,):
            frames = [line['frame'] for line in lines if number in (None, line.get('connection'))]
            if frames != sorted(frames):
                self.complain(0, 'the lines are not in the order of the capture')
        partial = [message for message in expected if not message.complete]
        for message in expected:
            if message.complete:
                self.complete(message, by_frame[message.frame])
        for left in by_frame.values():
            for line in left:
                self.incomplete(line, partial)
        self.connections(expected, lines)

    def complain(self, frame, text):
        self.complaints.append(f'frame {frame}: {text}')

    def complete(self, message, lines):
        """A message whose packets are all there must be there, once, and right."""
        want = message.expected
        found = [line for line in lines if line.get('xid') == want.get('xid') and
                 line.get('dst_qpn') == want['dst_qpn'] and line.get('dst') == want['dst']]
        if len(found) != 1:
            self.complain(message.frame, f"{want.get('type')} {want.get('xid')} of "
                          f'{want["src"]} is there {len(found)} times')
            return
        line = found[0]
        lines.remove(line)
        for key in FROM_BYTES + FROM_PACKETS:
            if line.get(key) != want.get(key):
                self.complain(message.frame, f'{key}: on the wire {want.get(key)}, decode {line.get(key)}')
        for key, unknown in FROM_PAIRING.items():
            if line.get(key) == want.get(key):
                continue
            if self.hedged(message) and line.get(key) == unknown:
                self.hedges[key] += 1
                continue
            self.complain(message.frame, f'{key}: on the wire {want.get(key)}, decode {line.get(key)}')
        self.rpc(message.frame, want, line)
        # what was not captured is said; what was all captured is not called truncated or malformed
        if 'header_length' not in want and 'truncated' not in rules(line):
            self.complain(message.frame, 'the header is cut, and no finding says truncated')
        if all(len(piece.roce.payload) == piece.roce.length for piece in message.pieces.values()) and \
                'truncated' in rules(line):
            self.complain(message.frame, f"called truncated: {line['findings']}")
        if 'malformed' in rules(line):
            self.complain(message.frame, f"called malformed: {line['findings']}")

    def rpc(self, frame, want, line):
        want, got = want.get('rpc'), line.get('rpc')
        if want is None and got is None:
            return
        if want is None or got is None:
            self.complain(frame, f'rpc: on the wire {want}, decode {got}')
            return
        for key, value in want.items():
            if got.get(key) != value:
                self.complain(frame, f'rpc.{key}: on the wire {value}, decode {got.get(key)}')
        # a Reply does not name its procedure; what is said of it must be what its Call said
        said = {name: got[name] for name in ('program', 'version', 'procedure') if name in got}
        if want['direction'] == 'call':
            self.procedures[line.get('connection'), line.get('xid'), line.get('dst')] = said
        elif said:
            key = line.get('connection'), line.get('xid'), line.get('src')
            if self.procedures.get(key, said) != said:
                self.complain(frame, f'rpc: {key} answers another procedure: {got}')

    def incomplete(self, line, partial):
        """A line for a message with packets missing: nothing in it may be wrong, and it says so."""
        for message in partial:
            want = message.expected
            if want['dst_qpn'] == line.get('dst_qpn') and want['dst'] == line.get('dst') and \
                    any(piece.frame <= line['frame'] for piece in message.pieces.values()) and \
                    want.get('xid') == line.get('xid'):
                break
        else:
            self.complain(line['frame'], f'no such message on the wire: {line}')
            return
        partial.remove(message)
        if not rules(line):
            self.complain(line['frame'], 'packets are missing, and no finding says so')
        for key in FROM_BYTES:
            if key in line and key != 'payload_length' and not is_prefix(line[key], want.get(key)):
                self.complain(line['frame'], f'{key}: on the wire {want.get(key)}, decode {line[key]}')

    def connections(self, expected, lines):
        """One connection on the wire is one number, and one number one pair of ends."""
        numbers, ends = defaultdict(set), defaultdict(set)
        by_key = {(message.frame, message.expected.get('xid')): message.expected for message in expected}
        for line in lines:
            want = by_key.get((line['frame'], line.get('xid')))
            if want:
                numbers[want['connection']].add(line.get('connection'))
                ends[line.get('connection')].add(frozenset(((want['src'], want['src_qpn']),
                                                        (want['dst'], want['dst_qpn']))))
        for connection, said in numbers.items():
            if len(said) != 1:
                self.complain(0, f'connection {connection} is called {sorted(said)}')
        for number, said in ends.items():
            if len(said) != 1:
                self.complain(0, f'connection {number} is several: {sorted(map(sorted, said))}')
