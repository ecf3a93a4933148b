# SPDX-License-Identifier: BSD-2-Clause
"""Captured at both ends. The recordings were made at the server; what a place near the client would have seen is made
of that with known times on the way, so that what the command should say is known to the nanosecond."""
import os
from collections import Counter

import pcap
import roce
import taps as tool

TO_SERVER, TO_CLIENT = 30000, 20000
APART = 10**7  # clocks
ONE_PACKET = 1000  # bytes that fit into one


class Made:
    def __init__(self, recording, folder, what):
        self.command, self.path = recording.command, os.path.join(folder, what + '.pcapng')

    def write(self, seen, linktype, swapped=False):
        tool.write(self.path, seen, linktype, swapped)
        rpcs, _ = self.command.lines('rpcs', self.path)
        connections, _ = self.command.lines('connections', self.path)
        return [line for line in rpcs if line.get('direction') == 'forward'], connections


def rdma(packets):
    """(frame, parsed) of packets between two QPs."""
    parsed = ((packet.frame, roce.parse(packet.data, packet.length)) for packet in packets)
    return [(frame, one) for frame, one in parsed if one and one.dst_qpn > roce.QPN_CM and one.opcode < roce.UD_SEND_ONLY]


def exact(what, lines, messages, lossy):
    """Call and Reply on their way; between them the server, from its own times."""
    small = {message['frame']: message['time_ns'] for message in messages
             if message.get('header_length', ONE_PACKET) + message['payload_length'] < ONE_PACKET}
    times = {(message['connection'], message['xid'], message['direction']): small.get(message['frame'])
             for message in messages if 'direction' in message}
    complaints, judged = [], 0
    for line in lines:
        xid, phases = line['xid'], line.get('phases', {})
        call, reply = (times.get((line['connection'], xid, one)) for one in ('call', 'reply'))
        if not call or not reply or line['retransmitted'] or line['reply_delivery']['transmissions'] > 1 or \
                line['call_delivery']['transmissions'] > 1:
            continue
        judged += 1
        # a packet lost before the Reply: it is sent again, and the first one is what the server's time ends with
        if not lossy and phases.get('server_ns', 0) + phases.get('data_ns', 0) != reply - call:
            complaints.append(f'{what} {xid}: {phases}, the server had it for {reply - call}')
        want = {'call_ns': TO_SERVER, 'reply_ns': TO_CLIENT, 'exact': True}
        complaints += [f'{what} {xid}: {key} is {phases.get(key)}, not {value}' for key, value in want.items()
                       if phases.get(key) != value]
        if line['latency_ns'] != sum(phases.get(key, 0) for key in ('call_ns', 'server_ns', 'data_ns', 'reply_ns', 'client_ns')):
            complaints.append(f'{what} {xid}: {phases} are not {line["latency_ns"]}')
        for key, value in ('call_delivery', TO_SERVER), ('reply_delivery', TO_CLIENT):
            if line[key].get('transit_ns') != value:
                complaints.append(f'{what} {xid}: {key} {line[key]}, on the way for {value}')
    print(f'{what}: {judged} RPCs of {len(lines)} judged')
    return complaints if judged else [f'{what}: no RPC to be judged']


def paths(what, connections, lost, passed=None):
    """lost, passed: Counter by 'server', 'client'."""
    complaints, seen, missing = [], Counter(), Counter()
    for connection in connections:
        for path in connection.get('paths', []):
            if 'transits' not in path:
                complaints.append(f'{what}: connection {connection["connection"]}: {path} is not of two places')
                continue
            seen[path['to']] += path['transits']
            missing[path['to']] += path['lost_between']
            value = {'server': TO_SERVER, 'client': TO_CLIENT}[path['to']]
            if {path['transit_min_ns'], path['transit_mean_ns'], path['transit_max_ns']} != {value}:
                complaints.append(f'{what}: on the way for {path}, not {value}')
    if missing != lost:
        complaints.append(f'{what}: lost in between {missing}, not {lost}')
    if passed and seen != passed:
        complaints.append(f'{what}: passed both {seen}, not {passed}')
    return complaints


def droppable(packets, client):
    """Frames that may be lost behind the first place, for the recording tells a story that is the same then: an Ack
    that another follows, and what is sent again."""
    found, last, later = [], set(), set()
    times = Counter(packet.data for packet in packets)
    data = {packet.frame: packet.data for packet in packets}
    for frame, one in reversed(rdma(packets)):
        if times[data[frame]] > 1:
            continue  # the network made it two before the first place: which of them is lost behind that?
        key = one.src, one.dst_qpn, one.psn, one.opcode
        if one.opcode == roce.ACK and one.extension[0] >> 5 == 0 and one.src == client:
            if (one.src, one.dst_qpn) in last:
                found.append(frame)
            last.add((one.src, one.dst_qpn))
        elif one.src != client and one.opcode not in roce.RESPONSES:
            if key in later and one.opcode not in roce.SENDS:
                found.append(frame)
            later.add(key)
    return set(found[::7])


def compare(recording, folder):
    packets, linktype = pcap.read(recording.path)
    messages, _ = recording.command.lines('decode', recording.path)
    (client,) = {message['src'] for message in messages if message['sender'] == 'client'}
    lossy = any(word in recording.name for word in ('loss', 'dup', 'reconnect'))
    seen = tool.two(packets, client, TO_SERVER, TO_CLIENT)
    complaints = []
    for swapped in False, True:
        what = 'swapped' if swapped else 'two places'
        rpcs, connections = Made(recording, folder, what.replace(' ', '')).write(seen, linktype, swapped)
        complaints += exact(what, rpcs, messages, lossy)
        passed = Counter('server' if one.src == client else 'client' for _, one in rdma(packets))
        complaints += paths(what, connections, Counter(), passed if not lossy else None) \
            if recording.name.startswith('roce-') and not lossy else []
    if recording.name.startswith('roce-'):
        missing = droppable(packets, client)
        lost = Counter('server' if one.src == client else 'client' for frame, one in rdma(packets) if frame in missing)
        print(f'lost in between: {dict(lost)}')
        rpcs, connections = Made(recording, folder, 'missing').write(
            tool.two(packets, client, TO_SERVER, TO_CLIENT, missing), linktype)
        complaints += exact('missing', rpcs, messages, lossy)
        complaints += paths('missing', connections, lost)
    return complaints + unknown(recording, folder, packets, client, linktype, len(messages))


def unknown(recording, folder, packets, client, linktype, n_messages):
    """Clocks that contradict each other; one direction alone: nothing is told, never a guess."""
    complaints = []
    rpcs, connections = Made(recording, folder, 'clocks').write(
        tool.two(packets, client, TO_SERVER, TO_CLIENT, clock_ns=APART), linktype)
    if any('exact' in line.get('phases', {}) for line in rpcs):
        complaints.append('clocks: an RPC is said to be exact')
    for connection in connections:
        if connection['messages'] and any('transits' in path for path in connection['paths']):
            complaints.append(f'clocks: connection {connection["connection"]} knows times on the way')
    if sum(connection['messages'] for connection in connections) != n_messages:
        complaints.append(f'clocks: {sum(c["messages"] for c in connections)} messages, not {n_messages}')
    for who in (True, False):
        part = [packet for packet in packets if (tool.source(packet.data) == client) == who]
        rpcs, connections = Made(recording, folder, 'oneway').write(
            tool.two(part, client, TO_SERVER, TO_CLIENT), linktype)
        for line in rpcs:
            states = {line[key]['state'] for key in ('call_delivery', 'reply_delivery') if key in line}
            if states - {'unknown'} or 'exact' in line.get('phases', {}):
                complaints.append(f'one direction: {line["xid"]} is {states}, {line.get("phases")}')
    return complaints
