# SPDX-License-Identifier: BSD-2-Clause
"""failure_table_test.py RPCRDMA: what Wireshark's built-in dissector is known to get wrong, row by row:
each row is a capture made for it, and what is in it is told right, byte for byte, or said to be missing."""
import os
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
# pylint: disable=wrong-import-position
import cm
import extract
import pcap
import roce
import tool
import tshark
from talk import Clock, End, Talk

MSG, NOMSG, MSGP = 0, 1, 2
NFS, CALLBACK = 100003, 0x40000000
GETATTR, READ, WRITE, COMPOUND = 1, 6, 7, 1
SIZE = 5000


def data(seed, n):
    return bytes((seed + 7 * i + (i >> 8)) & 255 for i in range(n))


def opaque(content):
    return struct.pack('>I', len(content)) + content + bytes(-len(content) % 4)


def call(xid, procedure, arguments=b'', program=NFS, version=3):
    return struct.pack('>10I', xid, 0, 2, program, version, procedure, 0, 0, 0, 0) + arguments


def reply(xid, results=b''):
    return struct.pack('>6I', xid, 1, 0, 0, 0, 0) + results


def segment(handle, length, offset):
    return struct.pack('>IIQ', handle, length, offset)


def header(xid, kind=MSG, read=(), write=(), reply_chunk=None, credits=32, align=None):
    out = struct.pack('>4I', xid, 1, credits, kind)
    if align is not None:
        out += struct.pack('>2I', *align)
    for position, *rest in read:
        out += struct.pack('>2I', 1, position) + segment(*rest)
    out += bytes(4)
    for chunk in write:
        out += struct.pack('>2I', 1, len(chunk)) + b''.join(segment(*one) for one in chunk)
    out += bytes(4)
    if reply_chunk is None:
        return out + bytes(4)
    return out + struct.pack('>2I', 1, len(reply_chunk)) + b''.join(segment(*one) for one in reply_chunk)


class Mount(Talk):
    """A conversation, and what its RPC messages are."""

    def __init__(self, connect=True, client_psn=0x1000, server_psn=0x2000, mtu=1024):
        self.packets = []
        super().__init__(self.packets, End('192.0.2.11', 17, client_psn), End('192.0.2.1', 18, server_psn),
                         Clock(), mtu)
        self.want = {}  # (XID, call or reply, reverse) -> bytes
        self.connect(cm.IP_SERVICE | 20049)
        if not connect:
            del self.packets[:]

    def note(self, message, reverse=False):
        xid, kind = struct.unpack_from('>2I', message)
        self.want[f'0x{xid:08x}', ('call', 'reply')[kind], reverse] = message
        return message

    def getattr(self, xid):
        fattr = bytes(84)
        self.send(self.client, header(xid) + self.note(call(xid, GETATTR, opaque(b'handle'))))
        self.send(self.server, header(xid) + self.note(reply(xid, bytes(4) + fattr)))

    def read_call(self, xid, *chunks):
        chunks = chunks or ([(51, SIZE, 0x1000)],)
        message = self.note(call(xid, READ, opaque(b'handle') + struct.pack('>QI', 0, SIZE)))
        return self.send(self.client, header(xid, write=chunks) + message)

    def read_results(self, content):
        """Results, and how long they are up to the content."""
        head = struct.pack('>5I', 0, 0, len(content), 1, len(content))
        return head, content + bytes(-len(content) % 4)

    def read_reply(self, xid, content, *chunks, inline=False, written=True):
        head, body = self.read_results(content)
        self.note(reply(xid, head + body))
        chunks = chunks or ([(51, len(content), 0x1000)],)
        if written and not inline:
            self.write(self.server, 51, 0x1000, content)
        return self.send(self.server, header(xid, write=chunks) + reply(xid, head + (body if inline else b'')))

    def write_call(self, xid, content, handle=61, offset=0x9000):
        arguments = opaque(b'handle') + struct.pack('>QII', 0, len(content), 2)
        whole = self.note(call(xid, WRITE, arguments + opaque(content)))
        position = len(whole) - len(content) - -len(content) % 4
        return self.send(self.client,
                         header(xid, read=[(position, handle, len(content), offset)]) + whole[:position])

    def write_reply(self, xid):
        message = self.note(reply(xid, struct.pack('>5I', 0, 0, 0, SIZE, 2) + bytes(8)))
        return self.send(self.server, header(xid) + message)

    def mixed(self):
        """A bit of everything."""
        self.getattr(1)
        self.read_call(2)
        self.read_reply(2, data(2, SIZE))
        self.write_call(3, data(3, SIZE))
        self.read(self.server, 61, 0x9000, data(3, SIZE))
        self.write_reply(3)
        self.getattr(4)
        return self


class Row:
    """What came out of one row's capture."""

    def __init__(self, command, folder, mount, packets=None):
        path = os.path.join(folder, 'row.pcap')
        self.out = os.path.join(folder, 'out.pcap')
        pcap.write(path, mount.packets if packets is None else packets)
        self.mount = mount
        self.lines, _ = command.lines('rpcs', path)
        self.by_xid = {int(line['xid'], 16): line for line in self.lines}
        self.decoded, _ = command.lines('decode', path)
        command.run('extract', '-q', '-w', self.out, '-d', os.path.join(folder, 'messages'), path)
        self.messages = extract.messages(os.path.join(folder, 'messages'))

    def check(self, condition, text):
        if not condition:
            raise AssertionError(f'{text}: {self.lines}')

    def all_whole(self):
        """Every message byte for byte, each transaction once and complete, and tshark has nothing to say."""
        got = {key: [content for entry, content in found if entry['whole']]
               for key, found in self.messages.items()}
        want = {key: [message] for key, message in self.mount.want.items()}
        self.check(got == want, 'the messages are not those that were sent')
        self.check(len(self.lines) == len(want) // 2, 'as many transactions as there were')
        for line in self.lines:
            self.check(line['complete'] and line['latency_ns'] > 0, 'complete')
        if not tshark.missing():
            complaints = extract.compare_tshark(self.out, self.lines)
            self.check(not complaints, f'tshark: {complaints}')

    def missing(self, xid, direction):
        (entry, _), = self.messages[f'0x{xid:08x}', direction, False]
        self.check(not entry['whole'], 'given as whole')
        return [(gap['offset'], gap['length']) for gap in entry['missing']]


def no_cm(command, folder):
    """No CM exchange: both directions are one conversation, chunks are followed."""
    row = Row(command, folder, Mount(connect=False).mixed())
    row.all_whole()
    row.check([line['name'] for line in row.lines] == ['GETATTR', 'READ', 'WRITE', 'GETATTR'], 'names')


def counted_once(command, folder):
    """A READ with a write chunk counts once; a WRITE's latency runs from the Call's Send to the Reply's."""
    mount = Mount()
    mount.mixed()
    row = Row(command, folder, mount)
    row.all_whole()
    for xid in (2, 3):
        frames = {key: row.by_xid[xid][key] for key in ('call_frame', 'reply_frame')}
        times = {key: mount.packets[frame - 1].time_ns for key, frame in frames.items()}
        row.check(row.by_xid[xid]['response_ns'] == times['reply_frame'] - times['call_frame'], 'latency')


def sliced(command, folder):
    """Packets cut to 128 bytes: every header that was captured is read, and lengths are the wire's."""
    mount = Mount().mixed()
    row = Row(command, folder, mount, [one._replace(data=one.data[:160]) for one in mount.packets])
    row.check([line.get('name') for line in row.lines] == ['GETATTR', 'READ', 'WRITE', 'GETATTR'], 'names')
    row.check(row.by_xid[2]['complete'] and row.by_xid[2]['reply_length'] == 24 + 20 + SIZE, 'lengths')
    row.check(row.missing(2, 'reply')[0][0] > 24, 'what was cut')


def wrapped(command, folder):
    """The PSN wraps inside of a Send, of a Write, of a Read."""
    for client, server in ((0xFFFFFF, 0xFFFFFE), (0xFFFFFD, 0xFFFFFC), (0xFFFFFC, 0xFFFFF9), (0xFFFFF0, 0xFFFFF4)):
        for mtu in (256, 1024):
            with tempfile.TemporaryDirectory(dir=folder) as one:
                mount = Mount(client_psn=client, server_psn=server, mtu=mtu)
                mount.read_call(9)  # inline, in several packets
                mount.read_reply(9, data(9, 3000), [(51, 0, 0x1000)], inline=True)
                Row(command, one, mount.mixed()).all_whole()


def handle_again(command, folder):
    """The same handle and offset again and again: other bytes each time."""
    mount = Mount()
    for xid in range(10, 16):
        mount.read_call(xid)
        mount.read_reply(xid, data(xid, SIZE - xid))
    Row(command, folder, mount).all_whole()


def without(mount, predicate):
    """The capture without the packets of which it is true."""
    out = []
    for one in mount.packets:
        parsed = roce.parse(one.data, one.length)
        if not (parsed and predicate(parsed)):
            out.append(one)
    return out


def write_missing(command, folder):
    """One packet of a Write is missing: which bytes that are is said, all else is right."""
    mount = Mount()
    mount.getattr(1)
    mount.read_call(2)
    psn = mount.server.psn
    mount.read_reply(2, data(2, SIZE))
    for xid in range(100, 140):
        mount.getattr(xid)
    row = Row(command, folder, mount, without(
        mount, lambda one: one.opcode == roce.WRITE_MIDDLE and one.psn == psn + 2))
    row.check(row.missing(2, 'reply') == [(24 + 20 + 2048, 1024)], 'the missing range')
    row.check(not row.by_xid[2]['complete'] and row.by_xid[2]['name'] == 'READ', 'named')
    row.check(sum(line['complete'] for line in row.lines) == 41, 'the others are complete')


def response_missing(command, folder):
    """One Read response is missing: the Call is there, with the range that is not."""
    mount = Mount()
    mount.write_call(3, data(3, SIZE))
    psn = mount.server.psn
    mount.read(mount.server, 61, 0x9000, data(3, SIZE))
    mount.write_reply(3)
    mount.clock.now += 1_000_000_000
    for xid in range(100, 104):
        mount.getattr(xid)
    row = Row(command, folder, mount, without(
        mount, lambda one: one.opcode == roce.RESPONSE_MIDDLE and one.psn == psn + 3))
    at = len(mount.want['0x00000003', 'call', False]) - SIZE
    row.check(row.missing(3, 'call') == [(at + 3072, 1024)], 'the missing range')
    row.check(row.by_xid[3]['name'] == 'WRITE' and 'latency_ns' in row.by_xid[3], 'named, and timed')


def reply_again(command, folder):
    """A Reply's Send is retransmitted: one transaction."""
    mount = Mount()
    mount.read_call(2)
    mount.read_reply(2, data(2, SIZE))
    again = [one for one in mount.packets if roce.parse(one.data, one.length).opcode == roce.SEND_ONLY][-1]
    for _ in range(2):
        mount.packets.append(again._replace(frame=len(mount.packets) + 1, time_ns=mount.clock.tick()))
    mount.getattr(4)
    Row(command, folder, mount).all_whole()


def responses_again(command, folder):
    """Responses come again while a second Read is outstanding: after the first Read is complete, and
    before."""
    for after, count in ((3, None), (1, 4)):
        mount = Mount()
        mount.write_call(3, data(3, SIZE))
        mount.write_call(4, data(4, SIZE), 62, 0xA000)
        first = len(mount.packets)
        mount.read(mount.server, 61, 0x9000, data(3, SIZE))
        middle = len(mount.packets)
        mount.read(mount.server, 62, 0xA000, data(4, SIZE))
        reads = mount.packets[first:]
        del mount.packets[first:]
        one, two = reads[:middle - first], reads[middle - first:]
        # request 1, request 2, responses 1, some of them again, responses 2
        for packet in one[:1] + two[:1] + one[1:count] + one[after:] + two[1:]:
            mount.packets.append(packet._replace(frame=len(mount.packets) + 1, time_ns=mount.clock.tick()))
        mount.write_reply(3)
        mount.write_reply(4)
        with tempfile.TemporaryDirectory(dir=folder) as inside:
            Row(command, inside, mount).all_whole()


def unaligned(command, folder):
    """Writes of 100, 100 and 800 bytes make one segment."""
    mount = Mount()
    content = data(5, SIZE)
    mount.read_call(2)
    at = 0
    for n in (100, 100, 800, 1, 1999, SIZE - 3000):
        mount.write(mount.server, 51, 0x1000 + at, content[at:at + n])
        at += n
    mount.read_reply(2, content, written=False)
    Row(command, folder, mount).all_whole()


def second_chunk_empty(command, folder):
    """Two write chunks are offered, the second comes back empty."""
    mount = Mount()
    mount.read_call(2, [(51, SIZE, 0x1000)], [(52, SIZE, 0x8000)])
    mount.read_reply(2, data(6, SIZE), [(51, SIZE, 0x1000)], [(52, 0, 0x8000)])
    Row(command, folder, mount).all_whole()


def both_directions(command, folder):
    """A Call and a callback with one XID are two transactions."""
    mount = Mount()
    mount.getattr(1)
    mount.send(mount.client, header(7) + mount.note(call(7, 0)))
    mount.send(mount.server, header(7) + mount.note(call(7, 0, program=CALLBACK, version=1), True))
    mount.send(mount.server, header(7) + mount.note(reply(7)))
    mount.send(mount.client, header(7) + mount.note(reply(7), True))
    row = Row(command, folder, mount)
    row.check([line['direction'] for line in row.lines] == ['forward', 'forward', 'reverse'], 'directions')
    row.check([line['name'] for line in row.lines] == ['GETATTR', 'NULL', 'CB_NULL'], 'names')
    row.all_whole()


def version_2(command, folder):
    """Version 2 is read: a Call in a Call chunk, a Reply in a reply chunk."""
    mount = Mount()
    whole = mount.note(call(8, READ, opaque(b'handle') + struct.pack('>QI', 0, SIZE)))
    mount.send(mount.client, struct.pack('>5I', 8, 2, 1, 8, 0) + struct.pack('>2I', 1, 0) +
               segment(71, len(whole), 0x100) + bytes(12) + struct.pack('>2I', 1, 1) + segment(72, 8000, 0x200))
    mount.read(mount.server, 71, 0x100, whole)
    head, body = mount.read_results(data(8, SIZE))
    results = mount.note(reply(8, head + body))
    mount.write(mount.server, 72, 0x200, results)
    mount.send(mount.server, struct.pack('>4I', 8, 2, 1, 11) + bytes(4) + struct.pack('>2I', 1, 1) +
               segment(72, len(results), 0x200))
    row = Row(command, folder, mount)
    row.all_whole()
    row.check(row.by_xid[8]['name'] == 'READ', 'named')


def foreign(command, folder):
    """Another protocol whose word 3 is 1, 3 or 4 is left alone."""
    mount = Mount(connect=False)
    mount.getattr(1)
    for word in (1, 3, 4):
        mount.client.qpn, mount.server.qpn = 30 + word, 40 + word
        for turn in range(3):
            mount.send(mount.client, struct.pack('>8I', 77, 9, turn, word, 0, 0, 0, 5))
            mount.send(mount.server, struct.pack('>8I', 78, 9, turn, word, 0, 0, 0, 6))
    row = Row(command, folder, mount)
    row.all_whole()
    row.check(len(row.decoded) == 2, 'nothing else is taken for RPC-over-RDMA')


def msgp(command, folder):
    """RDMA_MSGP: the chunk lists are followed, and the padding is taken out."""
    mount = Mount()
    content = data(9, 700)
    whole = mount.note(call(9, WRITE, opaque(b'handle') + struct.pack('>QII', 0, 700, 2) + opaque(content)))
    at = len(whole) - 700
    mount.send(mount.client, header(9, MSGP, align=(512, 100)) + whole[:at] + bytes(-(36 + at) % 512) + whole[at:])
    mount.write_reply(9)
    row = Row(command, folder, mount)
    row.all_whole()
    row.check(row.by_xid[9]['call_length'] == len(whole), 'length')


ROWS = (no_cm, counted_once, sliced, wrapped, handle_again, write_missing, response_missing, reply_again,
        responses_again, unaligned, second_chunk_empty, both_directions, version_2, foreign, msgp)


def main():
    command = tool.Tool(sys.argv[1])
    failed = 0
    for row in ROWS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                row(command, folder)
            except (AssertionError, tool.Failure) as error:
                failed += 1
                print(f'{row.__name__}: {row.__doc__}\n    {str(error)[:1500]}')
    print(f'{len(ROWS) - failed} of {len(ROWS)} rows')
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
