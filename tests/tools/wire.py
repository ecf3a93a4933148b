# SPDX-License-Identifier: BSD-2-Clause
"""What a RoCEv2 capture holds, found out with all the time and memory in the world: the second
opinion that decode's output is compared with where the kernels' trace cannot speak, as in captures
with packets missing. It leans on the CM exchange of the complete capture."""
import bisect
from typing import NamedTuple

import cm
import pcap
import roce
import rpcrdma1


class Connection(NamedTuple):
    number: int
    frame: int          # of the CM REQ
    client: tuple       # (address, QPN)
    server: tuple
    port: int
    private: tuple      # of REQ and REP
    ids: tuple          # communication IDs of client and server

    def threshold(self):
        """RFC 8797 section 4: the lower of what one sends and the other receives."""
        client, server = (announced(data) for data in self.private)
        return {'call': min(client[0], server[1]), 'reply': min(server[0], client[1])}


def announced(private):
    if private[:5] != b'\xf6\xab\x0e\x18\x01':
        return 1024, 1024
    return (private[6] + 1) * 1024, (private[7] + 1) * 1024


class Piece(NamedTuple):
    """One packet of a Send."""
    frame: int
    connection: Connection
    from_client: bool
    psn: int    # unwrapped
    roce: roce.Roce


class Message(NamedTuple):
    key: tuple         # connection number, from_client, first PSN, packets it should have
    frame: int         # that completes it; of a partial message the last one there is
    complete: bool
    pieces: dict       # psn -> Piece, of what is there
    expected: dict     # what decode --json has to say, as far as the bytes tell


class Capture:
    def __init__(self, path):
        self.packets, self.linktype = pcap.read(path)
        self.roce = {packet.frame: parsed for packet in self.packets
                     if (parsed := roce.parse(packet.data, packet.length))}
        self.cm_frames = {frame for frame, r in self.roce.items() if r.dst_qpn == roce.QPN_CM}
        self.connections = self._connections()
        self.pieces = self._pieces()
        self.sends = self._sends()
        self.directions = {}
        for one in self.messages():
            if 'direction' in one.expected:
                self.directions[one.key] = one.expected['direction']

    def _connections(self):
        found, requests = [], {}
        for frame in sorted(self.cm_frames):
            r = self.roce[frame]
            datagram = cm.parse(r.payload)
            if not datagram:
                continue
            if datagram.kind == cm.REQ:
                requests.setdefault((r.src, r.dst, datagram.local_id), (frame, datagram))
            elif datagram.kind == cm.REP:
                request = requests.pop((r.dst, r.src, datagram.remote_id), None)
                if request:
                    found.append((request[0], (r.dst, request[1].qpn), (r.src, datagram.qpn),
                                  request[1].port, (request[1].private, datagram.private),
                                  (request[1].local_id, datagram.local_id)))
        found.sort(key=lambda connection: connection[0])
        return [Connection(number, *fields) for number, fields in enumerate(found, 1)]

    def spans(self):
        """connection number -> (first frame, last frame of its QPs, last frame of its CM exchange)."""
        spans, current = {}, {}
        starts = {connection.frame: connection for connection in self.connections}
        by_id = {connection.client[:1] + connection.server[:1] + connection.ids: connection
                 for connection in self.connections}
        for frame, r in self.roce.items():
            if frame in starts:
                one = starts[frame]
                spans[one.number] = [frame, frame, frame]
                current[one.client[0], *one.server] = current[one.server[0], *one.client] = one.number
            elif frame in self.cm_frames:
                datagram = cm.parse(r.payload)
                ids = datagram and (datagram.local_id, datagram.remote_id)
                one = ids and (by_id.get((r.src, r.dst, *ids)) or by_id.get((r.dst, r.src, *ids[::-1])))
                if one:
                    spans[one.number][2] = frame
            elif (r.src, r.dst, r.dst_qpn) in current:
                spans[current[r.src, r.dst, r.dst_qpn]][1] = frame
        return spans

    def _pieces(self):
        """Every packet of a Send with its connection and an unwrapped PSN."""
        by_end = {}
        for connection in self.connections:
            for from_client in (True, False):
                here, there = connection.client, connection.server
                if not from_client:
                    here, there = there, here
                by_end.setdefault((here[0], *there), []).append((connection.frame, connection, from_client))
        pieces, last = {}, {}
        for frame, r in self.roce.items():
            if r.opcode not in roce.SENDS:
                continue
            ends = by_end.get((r.src, r.dst, r.dst_qpn))
            if not ends:
                continue
            at = bisect.bisect(ends, frame, key=lambda end: end[0]) - 1
            if at < 0:
                continue
            _, connection, from_client = ends[at]
            key = connection.number, from_client
            before = last.get(key, r.psn)
            psn = before + ((r.psn - before + (1 << 23)) % (1 << 24) - (1 << 23))
            last[key] = psn
            pieces[frame] = Piece(frame, connection, from_client, psn, r)
        return pieces

    def _sends(self):
        """(connection number, from_client, PSN) -> (first PSN, packets) of each Send. A Send's packets
        have consecutive PSNs; those that the capture never saw end it early and are not counted."""
        seen = {}
        for piece in self.pieces.values():
            seen.setdefault((piece.connection.number, piece.from_client, piece.psn), piece.roce.opcode)
        sends, start = {}, None
        for key in sorted(seen):
            if seen[key] in roce.SEND_STARTS:
                start = key
            if start and start[:2] == key[:2] and seen[key] in roce.SEND_ENDS:
                psns = range(start[2], key[2] + 1)
                if all((*key[:2], psn) in seen for psn in psns):
                    for psn in psns:
                        sends[(*key[:2], psn)] = start[2], len(psns)
                start = None
        return sends

    def messages(self, packets=None):
        """All Sends of `packets`, a subset of the capture's (cut, thinned or sliced); their frames
        count in the subset. Ordered by frame."""
        packets = self.packets if packets is None else packets
        groups = {}
        for position, packet in enumerate(packets, 1):
            piece = self.pieces.get(packet.frame)
            if not piece:
                continue
            send = self.sends.get((piece.connection.number, piece.from_client, piece.psn))
            if not send:
                continue
            held = roce.parse(packet.data, packet.length)
            if not held:
                continue
            key = piece.connection.number, piece.from_client, *send
            groups.setdefault(key, {}).setdefault(
                piece.psn, piece._replace(frame=position, roce=held))
        times = [packet.time_ns for packet in packets]
        found = [message(pieces, key, times) for key, pieces in groups.items()]
        for one in found:  # which way an RPC runs is known of its message, however little is left of it
            if 'type' in one.expected and one.key in self.directions:
                one.expected['direction'] = self.directions[one.key]
        return sorted(found, key=lambda one: (one.frame, one.key))


def message(pieces, key, times):
    first_psn, count = key[2:]
    captured, length, last = b'', 0, None
    contiguous = True
    for psn in range(first_psn, first_psn + count):
        piece = pieces.get(psn)
        if not piece:
            contiguous = False
            continue
        if contiguous:
            captured += piece.roce.payload
            contiguous = len(piece.roce.payload) == piece.roce.length
        length += piece.roce.length
        last = piece
    complete = len(pieces) == count
    frame = max(piece.frame for piece in pieces.values())
    out = rpcrdma1.decode(captured, length)
    if not complete:
        out.pop('payload_length', None)
    here, there = last.connection.client, last.connection.server
    if not last.from_client:
        here, there = there, here
    out.update(frame=frame, time_ns=times[frame - 1], connection=last.connection.number,
               sender='client' if last.from_client else 'server',
               src=here[0], dst=there[0], src_qpn=here[1], dst_qpn=there[1])
    end = pieces.get(first_psn + count - 1)
    if end and end.roce.opcode in (roce.SEND_LAST_INV, roce.SEND_ONLY_INV) and len(end.roce.extension) == 4:
        out['invalidate'] = '0x' + end.roce.extension.hex()
    if 'direction' not in out and 'type' in out:
        if out['type'] == 'RDMA_ERROR' or (out['type'] == 'RDMA_NOMSG' and not last.from_client):
            out['direction'] = 'reply'
        elif out['type'] == 'RDMA_NOMSG':
            out['direction'] = 'call'
    return Message(key, frame, complete, pieces, out)
