# SPDX-License-Identifier: BSD-2-Clause
"""rpcs --json against the kernels' trace and the client's mountstats."""
import re
from collections import Counter, defaultdict

# Procedures of Linux's NFSv4 client that are no operation of the protocol: the operation they are for
CLIENT_PROCEDURES = {'FSINFO': 'GETATTR', 'GETACL': 'GETATTR', 'GET_LEASE_TIME': 'GETATTR',
                     'LOOKUP_ROOT': 'PUTROOTFH', 'OPEN_NOATTR': 'OPEN', 'PATHCONF': 'GETATTR',
                     'SERVER_CAPS': 'GETATTR', 'SETACL': 'SETATTR', 'STATFS': 'GETATTR',
                     'SYMLINK': 'CREATE'}


def padded(length):
    return length + -length % 4


class Comparison:
    def __init__(self, trace, lines):
        self.complaints = []
        self.lines = lines
        for client in trace.clients:
            mine = defaultdict(list)
            for line in lines:
                if line.get('call_frame') and line.get('direction') == 'forward':
                    mine[int(line['xid'], 16)].append(line)
            self.calls(client, mine)
        known = {xid for client in trace.clients for xid in client.calls}
        self.reverse(trace)
        for line in lines:
            if line.get('direction') == 'forward' and int(line['xid'], 16) not in known:
                self.complain(line, 'was never traced')

    def complain(self, line, text):
        self.complaints.append(f"{line['xid']} frame {line.get('call_frame', line.get('reply_frame'))}: {text}")

    def calls(self, client, mine):
        for xid, traced in client.calls.items():
            must, may = client.sendings(xid)
            found = mine[xid]
            if not must <= len(found) <= may:
                self.complaints.append(f'0x{xid:08x}: {len(found)} transactions, {must} to {may} sendings traced')
                continue
            found.sort(key=lambda line: line['call_frame'])
            first = [line for line in found if not line['retransmitted']]
            if len(first) != 1:
                self.complaints.append(f'0x{xid:08x}: counted {len(first)} times')
            for call, line in zip(traced[-len(found):], found):
                self.call(client, call, line, line is found[-1])

    def call(self, client, call, line, last):
        def same(what, got, want):
            if got != want:
                self.complain(line, f'{call["proc"]}: {what} is {got}, traced {want}')

        name = call['proc'].split()[1]
        if 'operations' in line:
            want = CLIENT_PROCEDURES.get(name, name)
            if want not in line['operations'] or line['name'] != '+'.join(line['operations']):
                self.complain(line, f'{call["proc"]}: name is {line["name"]}')
        else:
            same('name', line.get('name'), name)
        same('call_length', padded(line.get('call_length', 0)), padded(sum(call['xdr'])))
        if not last:
            return
        replies = client.replies[call['xid']]
        failed = call['xid'] in client.failed
        if 'read_chunk_length' in line or replies:  # else it may not be known
            same('read_chunk_length', line.get('read_chunk_length'), sum(segment[1] for segment in call['read']))
        same('reply_frame', 'reply_frame' in line, bool(replies) or failed)
        if not replies or failed:
            return
        same('chunk bytes returned', line['write_chunk_length'] + line['reply_chunk_length'],
             sum(segment[0] for segment in replies[-1]['segs']))
        same('complete', line['complete'], True)
        same('findings', [finding['rule'] for finding in line.get('findings', ())
                          if finding['rule'] != 'rpc-again'], [])
        if not 0 < line['latency_ns'] < 60e9:
            self.complain(line, f'latency {line["latency_ns"]}')
        moved = bool(call['read']) or any(segment[0] for segment in replies[-1]['segs'])
        if moved != ('rdma_ns' in line):
            self.complain(line, 'rdma_ns where nothing moved, or none where something did')

    def reverse(self, trace):
        got = Counter(int(line['xid'], 16) for line in self.lines
                      if line.get('direction') == 'reverse' and 'call_frame' in line)
        want = Counter()
        for client in trace.clients:
            want += client.reverse_calls
        if got != want:
            self.complaints.append(f'reverse Calls: {dict(got)}, traced {dict(want)}')
        for line in self.lines:
            if line.get('direction') == 'reverse' and not line['complete']:
                self.complain(line, 'a reverse transaction is not complete')


def snapshots(path):
    """What mountstats said: per mount the xprt line's numbers and, per procedure, Calls and bytes."""
    out = []
    with open(path, encoding='utf-8') as file:
        for line in file:
            if line.startswith('device '):
                out.append(({}, {}))
            elif match := re.match(r'\s+xprt:\s+rdma ([\d ]+)$', line):
                n = [int(word) for word in match[1].split()]
                out[-1][0].update(sends=n[5], recvs=n[6], request_bytes=n[13], reply_bytes=n[14])
            elif match := re.match(r'\s+(\w+): (\d+) (\d+) \d+ (\d+) (\d+) ', line):
                if int(match[2]):
                    out[-1][1][match[1]] = tuple(int(word) for word in match.group(2, 4, 5))
    return out


def per_procedure(lines):
    """Procedure -> Calls, bytes sent, bytes received, as mountstats counts."""
    out = defaultdict(lambda: [0, 0, 0])
    for line in lines:
        if 'reply_frame' in line and line['program'] == 100003:
            name = out[line['name']]
            name[0] += 1
            name[1] += line.get('call_length', 0)
            name[2] += line.get('reply_length', 0)
    return {name: tuple(numbers) for name, numbers in out.items()}


def sent_first(lines, sends):
    """The transactions of which the client had sent the Call, or the (reverse) Reply, after so many sends."""
    def sent(line):
        return line.get('call_frame' if line.get('direction') == 'forward' else 'reply_frame')
    upto = sorted((line for line in lines if sent(line)), key=sent)[:sends]
    return [line for line in upto if line.get('direction') == 'forward']


def differences(xprt, procedures, lines, lost):
    """What the sums of these transactions are, where mountstats says something else. It counts the bytes
    of sendings that were lost with their connection."""
    upto = sent_first(lines, xprt['sends'])
    got = {'recvs': sum('reply_frame' in call for call in upto),
           'reply_bytes': sum(call.get('write_chunk_length', 0) + call.get('reply_chunk_length', 0) for call in upto)}
    out = {key: (value, xprt[key]) for key, value in got.items() if xprt[key] != value}
    if {call['version'] for call in upto if call['program'] == 100003} == {3}:
        mine = per_procedure(upto)
        for name, (count, sent, received) in procedures.items():
            ours = mine.get(name, (0, 0, 0))
            if name != 'NULL' and ours != (count, ours[1] if lost else sent, received):
                out[name] = (ours, (count, sent, received))
    return out


MADE_AGAIN = 4  # connections of a mount, at most


def compare_mountstats(trace, lines, path):
    """Each mount's xprt line equals the totals of one connection up to that moment, or of several in a row where
    the mount's connection was lost and made again; a sending that was lost with it is counted there only."""
    lost = sum(may - must for client in trace.clients for must, may in map(client.sendings, client.calls))
    untaken = {xid: len(client.untaken(xid)) for client in trace.clients for xid in client.calls}
    connections = defaultdict(list)
    for line in lines:
        if untaken.get(int(line['xid'], 16)):  # and by mountstats never answered
            untaken[int(line['xid'], 16)] -= 1
            line = {**line, 'write_chunk_length': 0, 'reply_chunk_length': 0}
            line.pop('reply_frame', None)
        connections[line['connection']].append(line)
    numbers = sorted(connections)
    candidates = {(first, last): sum((connections[n] for n in numbers if first <= n <= last), [])
                  for first in numbers for last in numbers if first <= last < first + MADE_AGAIN}
    complaints = []
    for number, (xprt, procedures) in enumerate(snapshots(path)):
        nearest = {(name, less): differences({**xprt, 'sends': xprt['sends'] - less}, procedures, mine, lost)
                   for name, mine in candidates.items() for less in range(lost + 1)}
        if all(nearest.values()):
            complaints.append(f'mount {number}, {xprt}: no connection is like it: {nearest}')
    return complaints


LENGTHS = ('call_length', 'reply_length', 'read_chunk_length', 'write_chunk_length', 'reply_chunk_length')


def compare_damaged(lines, told, sliced, complete, exact, packed=False):
    """Transactions of a damaged capture: each is one of the complete capture's, with no other numbers where
    it says that it is complete. `complete`: none may be missing, but those that say that RDMA passed whose place was
    not captured, if `packed`: several RDMA headers in a packet, the later ones cut off. `exact`: times are, too: not where
    a Send is there twice and one is taken away, nor behind a hole in a TCP stream, where the start of an FPDU is
    known only by the ones that follow."""
    complaints = []
    want = defaultdict(list)
    for line in lines:
        want[line['xid']].append(line)
    seen = Counter(line['xid'] for line in told)
    for line in told:
        same = [one for one in want[line['xid']] if one['direction'] == line.get('direction', one['direction'])]
        if not same or seen[line['xid']] > len(want[line['xid']]):
            complaints.append(f'{line["xid"]}: told {seen[line["xid"]]} times, was there {len(want[line["xid"]])}')
        elif line['complete']:
            keys = LENGTHS + (() if sliced else ('name', 'response_ns') if exact else ('name',))
            if not any(all(line.get(key) == one.get(key) for key in keys) for one in same):
                complaints.append(f'{line["xid"]}: {line}, was {same}')
    if complete:
        n = [sum(line['complete'] for line in which) for which in (lines, told)]
        n[1] += packed * sum('rpc-unplaced' in [finding['rule'] for finding in line.get('findings', ())]
                             for line in told if not line['complete'])
        if n[0] != n[1]:
            complaints.append(f'{n[1]} complete transactions, {n[0]} in the complete capture')
    return complaints
