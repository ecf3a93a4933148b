# SPDX-License-Identifier: BSD-2-Clause
"""rpcrdma credits against decode and the acknowledgements, line by line, and against what the client's kernel traced."""
import csv
from collections import defaultdict, deque

import delivery
import roce

# What the mount options and the server's setting lead to (scenario in the recording's README.txt):
# the limit, and whether the jobs use it up.
EXPECTED = {'roce-credits-8': (8, 'requested'), 'roce-credits-128': (128, 'requested')}
# The client's Calls wait in its TCP behind the data it answers the server's reads with: the
# wire has fewer in flight than the kernel.
WAITS_IN_TCP = {'iwarp-loss'}


def is_reverse(message):
    return (message['sender'] == 'server') == (message['direction'] == 'call')


def read_series(path):
    """Rows by connection and direction."""
    rows = defaultdict(list)
    with open(path, encoding='utf-8', newline='') as file:
        for row in csv.DictReader(file):
            rows[int(row['connection']), row['direction']].append(row)
    return rows


def acknowledgements(packets):
    """(src, dst, destination QP) -> [(frame, time_ns, PSN before which all arrived)], read from the packets."""
    found = defaultdict(list)
    for packet in packets:
        one = roce.parse(packet.data, packet.length)
        if one and one.opcode in roce.RESPONSES:
            refused = one.opcode == roce.ACK and one.extension and one.extension[0] >> 5 in (1, 3)
            found[one.src, one.dst, one.dst_qpn].append((packet.frame, packet.time_ns, one.psn + (not refused)))
    return found


def psns(packets):
    """Frame -> PSN, of Sends."""
    parsed = ((packet.frame, roce.parse(packet.data, packet.length)) for packet in packets)
    return {frame: one.psn for frame, one in parsed if one and one.opcode in roce.SENDS}


def beginnings(packets):
    """Frame of a Send's last packet -> when its first passed, of Sends of several packets: then the credit is taken."""
    first, found = {}, {}
    for packet in packets:
        one = roce.parse(packet.data, packet.length)
        if not one or one.opcode not in roce.SENDS:
            continue
        key = one.src, one.dst, one.dst_qpn
        if one.opcode == roce.SEND_FIRST and first.get(key, (None,))[0] != one.psn:
            first[key] = one.psn, packet.time_ns
        if one.opcode in roce.SEND_ENDS - roce.SEND_STARTS and key in first:
            found[packet.frame] = first[key][1]
    return found


def delivered_at(message, acks, psn):
    """(frame, time_ns) of the first acknowledgement after a Reply that covers it, or None."""
    for frame, time_ns, before in acks[message['dst'], message['src'], message['src_qpn']]:
        if frame > message['frame'] and 0 < (before - psn[message['frame']]) % (1 << 24) < 1 << 23:
            return frame, time_ns
    return None


class Comparison:
    def __init__(self, name, trace, messages, result, series, packets=()):
        self.name, self.trace, self.complaints = name, trace, []
        self.acks, self.psns, self.begun = acknowledgements(packets), psns(packets), beginnings(packets)
        self.taken = defaultdict(dict)  # connection and direction -> XID -> row at which its Reply was delivered
        self.directions = {(connection['connection'], direction['direction']): direction
                           for connection in result['connections']
                           for direction in connection['directions']}
        talks = defaultdict(list)
        for message in messages:
            if 'direction' in message:
                key = message['connection'], 'reverse' if is_reverse(message) else 'forward'
                talks[key].append(message)
        if set(talks) != set(self.directions):
            self.complain(f'directions are {sorted(self.directions)}, messages have {sorted(talks)}')
            return
        for key, talk in talks.items():
            self.account(key, talk, series[key])
        for client in trace.clients:
            self.grants(client, talks)
        self.highest(talks)
        self.expectation()

    def complain(self, text):
        self.complaints.append(text)

    def events(self, key, talk, rows):
        """(kind, message, time_ns or None) in the order of the capture: a Reply passes, and is delivered."""
        if not self.name.startswith('roce-'):
            yield from self.tcp_events(key, talk, rows)
            return
        events = []
        for message in talk:
            begun = self.begun.get(message['frame'], message['time_ns'])
            events.append((message['frame'], 1, message['direction'], message,
                           begun if message['direction'] == 'call' else message['time_ns']))
            if message['direction'] == 'reply':
                frame, time_ns = delivered_at(message, self.acks, self.psns) or (float('inf'), None)
                events.append((frame, 0, 'delivered', message, time_ns))
        for _, _, kind, message, time_ns in sorted(events, key=lambda event: event[:2]):
            yield kind, message, time_ns

    @staticmethod
    def tcp_events(_key, talk, rows):
        """When a Reply is delivered, how long TCP's acknowledgement waited tells, which rpcs is judged for: here only
        that each is, once, in their order, after it passed."""
        messages, passed, in_flight = deque(talk), deque(), 0
        for row in rows:
            # an acknowledgement that comes with a Call is taken first
            late = messages[0]['time_ns'] - int(row['time_ns']) if messages else 1
            begins = late > 0 and messages and messages[0]['direction'] == 'call' and \
                int(row['in_flight']) > in_flight  # the first segment of several
            if (late == 0 or begins) and not (passed and int(row['in_flight']) < in_flight):
                message = messages.popleft()
                if message['direction'] == 'reply':
                    passed.append(message)
                yield message['direction'], message, None if begins else message['time_ns']
            elif passed:
                yield 'delivered', passed.popleft(), None
            in_flight = int(row['in_flight'])

    def account(self, key, talk, rows):
        """A second account, from decode's lines and the acknowledgements: every row of the series, and the totals."""
        waiting, most, calls, replies = set(), 0, 0, 0
        requested = granted = ''
        rows, before = list(rows), 0
        for (kind, message, time_ns), row in zip(self.events(key, talk, rows), rows):
            if kind == 'call':
                waiting.add(message['xid'])
                requested, calls = str(message['credits']), calls + 1
            elif kind == 'delivered':
                waiting.discard(message['xid'])
                granted, replies = str(message['credits']), replies + 1
                self.taken[key][message['xid']] = row
            most = max(most, len(waiting))
            want = {'requested': requested, 'granted': granted, 'in_flight': str(len(waiting))}
            if time_ns is not None:  # what passed between a Call's packets was counted before
                want['time_ns'] = str(max(time_ns, min(before, message['time_ns'])) if kind == 'call' else time_ns)
            before = int(row['time_ns'])
            for column, value in want.items():
                if row[column] != value:
                    self.complain(f'{key} {kind} of frame {message["frame"]}: {column} is {row[column]}, not {value}')
        passed = sum(message['direction'] == 'reply' for message in talk)
        if len(rows) - len(talk) - passed not in (0, 1):  # 1: the connection's end
            self.complain(f'{key}: {len(rows)} rows for {len(talk)} messages, {passed} of them Replies')
        direction = self.directions[key]
        want = {'calls': calls, 'replies': replies, 'unanswered': len(waiting), 'violations': 0,
                'rnr_naks': 0, 'settled': True, 'followed': passed > 0}
        for name, value in want.items():
            if direction[name] != value:
                self.complain(f'{key}: {name} is {direction[name]}, not {value}')
        if direction['in_flight']['max'] != most:
            self.complain(f"{key}: at most {direction['in_flight']['max']} in flight, not {most}")

    def grants(self, client, talks):
        """The value at each Reply is what the kernel traced, or more where it cut that to its slots."""
        for key, talk in talks.items():
            if key[1] == 'reverse':
                continue
            for message in talk:
                xid = int(message['xid'], 16)
                row = self.taken[key].get(message['xid'])
                if message['direction'] != 'reply' or message['dst'] not in client.addresses or not row:
                    continue
                traced = {reply['credits'] for reply in client.replies[xid]}
                mine = client.granted(int(row['granted']), int(row['requested']))
                if traced and traced != {mine}:
                    self.complain(f'{key} {message["xid"]}: the kernel has {traced} credits, credits '
                                  f'{row["granted"]} of {row["requested"]}')

    def highest(self, talks):
        """The trace has the host's order and the wire its own: close, not equal."""
        self.most = {}  # that the kernel had in flight
        for key, talk in talks.items():
            if key[1] == 'reverse':
                continue
            xids = {int(one['xid'], 16) for one in talk}
            addresses = {one['src'] for one in talk if one['sender'] == 'client'}
            most = 0
            for client in self.trace.clients:
                if client.addresses.isdisjoint(addresses):
                    continue
                events = [(call['ts'], 1, xid) for xid in xids for call in client.calls[xid]]
                events += [(reply['ts'], 0, xid) for xid in xids for reply in client.replies[xid]]
                waiting = set()
                for _, sent, xid in sorted(events):
                    (waiting.add if sent else waiting.discard)(xid)
                    most = max(most, len(waiting))
            self.most[key] = most
            mine = self.directions[key]['in_flight']['max']
            allowed = max(1, 0.05 * most)
            if mine > most + allowed or (mine < most - allowed and self.name not in WAITS_IN_TCP):
                self.complain(f'{key}: {mine} in flight at most, the kernel had {most}')

    def expectation(self):
        limit, bound = EXPECTED.get(self.name, (64, None))
        keys = [key for key, one in self.directions.items() if key[1] == 'forward' and one['replies']]
        forward = [self.directions[key] for key in keys]
        for key, one in zip(keys, forward):
            if one['limit'] != {'min': limit, 'max': limit, 'last': limit}:
                self.complain(f"limit {one['limit']}, not {limit}")
            if one['in_flight']['max'] > limit:
                self.complain(f"{one['in_flight']['max']} in flight, limit {limit}")
            if not bound and self.most[key] < limit - 1 and (one['bound_by'] != 'neither' or one['at_limit_ns'] or one['stalls']):
                self.complain(f"at its limit: {one['verdict']}")
            if sum(stall['to_ns'] - stall['from_ns'] for stall in one['stalls']) > one['at_limit_ns']:
                self.complain('the stalls are longer than the time at the limit')
        if bound and not any(one['bound_by'] == bound and one['at_limit_ns'] > 0 and
                             one['in_flight']['max'] == limit for one in forward):
            self.complain(f"never at its limit of {limit}: {[one['verdict'] for one in forward]}")


def in_use(name, client, lines, result):
    """All that was in flight, for how long: the sum of what the client waited for its Replies, as it traced that."""
    ours = sum(one['in_flight']['mean'] * one['measured_ns'] / 1e9 for connection in result['connections']
               for one in connection['directions'] if one['direction'] == 'forward')
    kernel, _, waited, _ = delivery.sums(client, lines)
    print(f'in flight {ours:.3f} s in all, the client waited {kernel:.3f} s (and {waited:.3f} s before the wire)')
    if any(word in name for word in delivery.LOSSY) and abs(ours - kernel) > delivery.SHARE * kernel:
        return [f'in flight {ours:.3f} s in all, the client waited {kernel:.3f} s']
    return []


def damaged(result, whole, what, complete=False):
    """What holds for any part of a recording of a mount that keeps the rules. `complete`: every
    message is still there."""
    out = []
    for connection in result['connections']:
        for one in connection['directions']:
            if one['violations']:
                out.append(f'{what}: {one["violations"]} violations that the whole capture has not: '
                           f'{connection.get("findings")}')
            for key in ('calls', 'replies', 'unanswered', 'at_limit_ns', 'measured_ns'):
                if one[key] < 0:
                    out.append(f'{what}: {key} is {one[key]}')
            if one.get('clock_set_back'):
                out.append(f'{what}: the clock went back, it is said')
            if one['at_limit_ns'] > one['measured_ns']:
                out.append(f'{what}: longer at the limit than measured')
    if complete:
        def totals(of):
            return sorted((one['calls'], one['replies'], one.get('in_flight', {}).get('max'))
                          for connection in of['connections'] for one in connection['directions'])
        if totals(result) != totals(whole):
            out.append(f'{what}: {totals(result)}, not {totals(whole)}')
    return out
