# SPDX-License-Identifier: BSD-2-Clause
"""Captured at both ends. The recordings were made at the server; what a place near the client would have seen is made
of that with known times on the way, so that what the command should say is known to the nanosecond."""
import os
import socket
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


def tcp(data):
    """(direction, sequence number, bytes of payload) of a TCP segment over IPv4 and Ethernet; None: it is none."""
    if data[12:14] != b'\x08\x00' or data[23] != socket.IPPROTO_TCP:
        return None
    segment = 14 + (data[14] & 15) * 4
    length = int.from_bytes(data[16:18], 'big') + 14 - segment - (data[segment + 12] >> 4) * 4
    return data[26:34] + data[segment:segment + 4], int.from_bytes(data[segment + 4:segment + 8], 'big'), length


def behind(highest, key, number, end, bits):
    """Whether this number is not beyond the highest of its direction, by as little as is no other connection."""
    before = highest.get(key)
    if before is not None and 0 < (before - number) % (1 << bits) < 1 << (bits - 8):
        return True
    highest[key] = end % (1 << bits)
    return False


def disturbed(packets):
    """As the packets themselves show, something was lost, doubled or came in another order: a Nak, a request or bytes
    that come again or late, the same packet twice."""
    highest, responses = {}, set()
    for packet in packets:
        segment, one = tcp(packet.data), roce.parse(packet.data, packet.length)
        if segment and segment[2] > 0 and behind(highest, *segment[:2], segment[1] + segment[2], 32):
            return True
        if not one or one.dst_qpn <= roce.QPN_CM or one.opcode >= roce.UD_SEND_ONLY:
            continue
        if one.opcode not in roce.RESPONSES:
            if behind(highest, (one.src, one.dst, one.dst_qpn), one.psn, one.psn + 1, 24):
                return True
        elif one.opcode == roce.ACK and one.extension[0] >> 5 == 3:
            return True
        elif packet.data in responses:  # IP counts packets
            return True
        responses.add(packet.data)
    return False


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


class Reads:
    """What the packets say of RDMA Reads, by the XID of the Call that offers the memory: when nothing moved and the
    client had been asked, and when requests or responses were on their way. Of captures without loss."""

    def __init__(self, packets, messages, client):
        offers = sorted((message['frame'], message['dst_qpn'], int(segment['handle'], 16), message['xid'])
                        for message in messages for segment in message.get('read', []))
        self.journeys, self.peer, reads, moved = {}, Counter(), [], {}
        times = {packet.frame: packet.time_ns for packet in packets}
        handles, at = {}, 0
        for frame, one in rdma(packets):
            while at < len(offers) and offers[at][0] <= frame:
                handles[offers[at][2]] = offers[at][3]
                at += 1
            now = times[frame]
            if one.src == client and one.opcode in roce.RESPONSES - {roce.ACK, roce.ATOMIC_ACK}:
                self.response(reads, one, now - TO_SERVER, now, moved)
            elif one.opcode == roce.READ_REQUEST and one.src != client:
                xid = handles.get(int.from_bytes(one.extension[8:12], 'big'))
                length = int.from_bytes(one.extension[12:16], 'big')
                reads.append((one.dst, one.psn, max(1, -(-length // 1024)), xid, now + TO_CLIENT))
                del reads[:-64]
                self.journeys.setdefault(xid, []).append((now, now + TO_CLIENT))

    def response(self, reads, one, sent, arrived, moved):
        for client, psn, packets, xid, asked in reversed(reads):
            if client == one.src and (one.psn - psn) % (1 << 24) < packets:
                if one.psn == psn:
                    self.peer[xid] += max(0, sent - max(asked, moved.get(xid, 0)))
                moved[xid] = sent
                self.journeys[xid].append((sent, arrived))
                return

    def network(self, xid):
        total, until = 0, 0
        for begin, end in sorted(self.journeys[xid]):
            total += max(0, end - max(begin, until))
            until = max(until, end)
        return total


def data(what, lines, alone, reads):
    """alone: of the server's capture by itself, the clock of which is that of server_ns and data_ns."""
    alone = {(line['connection'], line['xid']): line for line in alone if 'phases' in line}
    complaints, judged = [], 0
    xids = Counter(line['xid'] for line in lines)
    for line in lines:
        xid, phases = line['xid'], line.get('phases', {})
        if xid not in reads.journeys or 'exact' not in phases or xids[xid] > 1:
            continue
        judged += 1
        want = {'data_network_ns': reads.network(xid), 'data_peer_ns': reads.peer[xid]}
        other = alone.get((line['connection'], xid))
        if other and not line['write_chunk_length']:
            want['data_ns'] = other['phases']['data_ns']
        complaints += [f'{what} {xid}: {key} is {phases.get(key)}, not {value}' for key, value in want.items()
                       if phases.get(key) != value]
    print(f'{what}: {judged} RPCs with Reads judged')
    return complaints


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
    lines, _ = recording.command.lines('decode', recording.path)
    messages = [line for line in lines if 'sender' in line]  # findings of connections have lines, too
    (client,) = {message['src'] for message in messages if message['sender'] == 'client'}
    lossy = disturbed(packets)
    seen = tool.two(packets, client, TO_SERVER, TO_CLIENT)
    complaints = []
    alone, _ = recording.command.lines('rpcs', recording.path)
    reads = Reads(packets, messages, client) if recording.name.startswith('roce-') and not lossy else None
    for swapped in False, True:
        what = 'swapped' if swapped else 'two places'
        rpcs, connections = Made(recording, folder, what.replace(' ', '')).write(seen, linktype, swapped)
        complaints += exact(what, rpcs, messages, lossy)
        if reads:
            complaints += data(what, rpcs, alone, reads)
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
