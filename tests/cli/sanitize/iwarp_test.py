# SPDX-License-Identifier: BSD-2-Clause
"""rpcrdma sanitize of iWARP: TCP's segments stay what they were, FPDUs and their checksums too, whatever became of the
segments; and nothing else of their bytes is left. sanitize_test.py has what is the same for both carriers."""
import json
import os
import random
import struct
import subprocess

import command
from rpc_bytes import call, opaque, reply, words
import iwarp_talk
import mpa
import ngfile
import roce
import sanitized
import talk

RECORDINGS = 'iwarp-nfs3-mini', 'iwarp-nfs41-mini'
COMMANDS = (('decode', '--cm'), ('rpcs',), ('connections',), ('credits',), ('check', '-n', '--check-icrc'), ('report',),
            ('trace', '--slowest'))
ACK, SECRET = iwarp_talk.ACK, b'Secret of someone'


class Iwarp(command.CommandTest):
    def run_any(self, *arguments, statuses=(0,)):
        run = subprocess.run([command.RPCRDMA, *arguments], capture_output=True, check=False, timeout=120)
        self.stderr = run.stderr.decode()
        self.assertIn(run.returncode, statuses, self.stderr)
        return run.stdout

    def sanitize(self, packets):
        path, out = os.path.join(self.folder, 'in.pcap'), os.path.join(self.folder, 'out.pcapng')
        command.pcap.write(path, packets)
        self.run_any('sanitize', '--key', self.file(b'sixteen bytes or more', 'key'), path, '-o', out)
        return path, out, ngfile.read(out).packets

    def objects(self, path, *arguments):
        return [json.loads(line) for line in self.run_any(*arguments, '--json', path, statuses=(0, 1, 2)).splitlines()]

    def same(self, path, out, commands=COMMANDS):
        mapping = sanitized.Mapping()
        for arguments in commands:
            one, other = self.objects(path, *arguments), self.objects(out, *arguments)
            self.assertTrue(one or arguments[0] not in ('decode', 'connections', 'report'))
            if arguments[0] == 'report':
                for each in one + other:
                    each.pop('silent_ns', None)
                    each.pop('problems', None)  # they have the file's name
            mapping.compare(one, other, ' '.join(arguments))
            mapping.forth = {key: value for key, value in mapping.forth.items() if key[0] != 'path'}

    def ours(self, name):
        return [packet for packet in self.packets(name) if mpa.parse(packet)]

    def test_headers_stay_and_checksums_are_right(self):
        """Those of TCP, but for addresses; of MPA, DDP and RDMAP; computed here, in another way."""
        for name in RECORDINGS:
            packets = self.ours(name)
            after = self.sanitize(packets)[2]
            self.assertEqual(len(packets), len(after))
            pairs = [(mpa.parse(old), mpa.parse(new)) for old, new in zip(packets, after)]
            for old, new in pairs:
                self.assertEqual((old.packet.time_ns, old.packet.length, old.tcp, old.payload, old.end),
                                 (new.packet.time_ns, new.packet.length, new.tcp, new.payload, new.end))
                header, other = (one.packet.data[one.tcp:one.payload] for one in (old, new))
                self.assertEqual(header[:16] + header[20:], other[:16] + other[20:])
                self.assertNotEqual(old.ends, new.ends)
                ip = new.packet.data[14:34]
                self.assertEqual(roce.checksum(ip), 0)
                right = [roce.tcp_checksums(one.packet.data[14:34], one.packet.data[one.tcp:one.end]) for one in (old, new)]
                told = [struct.unpack_from('>H', one.packet.data, one.tcp + 16)[0] for one in (old, new)]
                self.assertEqual(right[0].index(told[0]), right[1].index(told[1]))
            units = [mpa.fpdus(list(side)) for side in zip(*pairs)]
            self.assertGreater(len(units[0]), 100)
            self.assertEqual(len(units[0]), len(units[1]))
            crcs = 0
            for old, new in zip(*units):
                size = 16 if old.content[2] & 0x80 else 20
                self.assertEqual((old.when, len(old.content), old.content[:size]), (new.when, len(new.content), new.content[:size]))
                sums = [struct.unpack('<I', one.content[-4:])[0] for one in (old, new)]
                crcs += sums[0] == mpa.crc32c(old.content[:-4]) != 0
                self.assertEqual(*(value == mpa.crc32c(one.content[:-4]) for one, value in zip((old, new), sums)))
                self.assertEqual(sums[0] == 0, sums[1] == 0)
            self.assertGreater(crcs + sum(one.content[-4:] == bytes(4) for one in units[0]), 100)

    def variants(self, packets, randomly):
        """Nothing is lost of these that is not lost in the original, too."""
        def some(share):
            return randomly.random() < share

        yield 'lost', [one for one in packets if not some(.02)]
        yield 'twice', [one for packet in packets for one in [packet] * (1 + some(.1))]
        yield 'begun before', packets[len(packets) // 3:]
        for size in (100, 128, 200):
            yield f'cut {size}', [one._replace(data=one.data[:size]) for one in packets]
        yield 'cut', [one._replace(data=one.data[:randomly.choice((100, 150, 300, 2000))]) for one in packets]
        order = list(packets)
        for i in range(0, len(order) - 3, 7):
            order[i], order[i + 2] = order[i + 2], order[i]
        times = sorted(one.time_ns for one in packets)
        yield 'in another order', [one._replace(time_ns=then) for one, then in zip(order, times)]
        yield 'cut up', [piece for one in packets for piece in (cut_up(one, randomly) if some(.3) else [one])]
        again = []
        for i, one in enumerate(packets):
            again.append(one)
            if some(.1) and i > 5:  # with other boundaries
                joined = join(packets[i - 4:i + 1])
                again += [joined._replace(time_ns=one.time_ns)] if joined else []
        yield 'sent again', again
        span = packets[-1].time_ns - packets[0].time_ns + 10**9
        for name, begin in ('wrap', (1 << 32) - 20000), ('the same ports again', 1000):
            moved = from_number(packets, begin)
            yield name, packets * (begin == 1000) + [one._replace(time_ns=one.time_ns + span) for one in moved]

    def test_the_same_whatever_became_of_segments(self):
        for name in RECORDINGS:
            packets = self.ours(name)
            data = sanitized.windows(mpa.moved_data(packets), 5)
            self.assertGreater(len(data), 1000)
            for kind, few in self.variants(packets, random.Random(name)):
                with self.subTest(f'{name} {kind}'):
                    path, out, after = self.sanitize(few)
                    self.assertEqual(len(few), len(after))
                    self.assertEqual(sanitized.windows((one.data for one in after), 5) & data, set())
                    self.same(path, out)

    def test_damaged(self):
        """One bit changed on the way, and the segment came again: it is damaged in the copy, too, in the same way. Before,
        its sender is seen to send right checksums."""
        for name in RECORDINGS:
            packets, few, randomly = self.ours(name), [], random.Random(name)
            for i, one in enumerate(packets):
                segment = mpa.parse(one)
                if i > 60 and segment.end > segment.payload and randomly.random() < .05:
                    data = bytearray(one.data)
                    data[randomly.randrange(segment.payload, segment.end)] ^= 1 << randomly.randrange(8)
                    few.append(one._replace(data=bytes(data)))
                few.append(one)
            path, out, after = self.sanitize(few)
            self.assertEqual(len(few), len(after))
            damage = ('check', '-n', '--check-icrc')
            self.assertIn('tcp-checksum', json.dumps(self.objects(path, *damage)))
            self.same(path, out, (damage,))

    def test_nothing_is_left_of_damage_at_random(self):
        for name in RECORDINGS:
            packets, randomly = self.ours(name), random.Random(name)
            data = sanitized.windows(mpa.moved_data(packets), 5)
            for i in range(8):
                few = []
                for packet in packets:
                    body = bytearray(packet.data)
                    if randomly.random() < .2:
                        for _ in range(randomly.choice((1, 1, 4, 50))):
                            body[randomly.randrange(14, len(body))] = randomly.randrange(256)
                    if i % 2:
                        body = body[:randomly.choice((60, 100, 200, 1000, 2000))]
                    if randomly.random() >= .02:
                        few.append(packet._replace(data=bytes(body)))
                with self.subTest(f'{name} {i}'):
                    after = self.sanitize(few)[2]
                    self.assertGreater(len(after), len(few) // 4)
                    self.assertEqual(sanitized.windows((one.data for one in after), 5) & data, set())

    def talk(self, flags=0, private=(b'', b'')):
        """A conversation, after its first RPC."""
        packets = []
        one = iwarp_talk.IwarpTalk(packets, talk.End('10.0.0.1', 17, 100), talk.End('10.0.0.2', 18, 500), talk.Clock(), flags)
        one.connect(0, private)
        one.send(one.client, call(1, 0))
        one.send(one.server, reply(1))
        return packets, one

    def bytes_of(self, packets):
        return b''.join(one.data for one in self.sanitize(packets)[2])

    def test_set_up(self):
        """Of private data stays RFC 8797's, and IRD and ORD (RFC 6581), of frames that say that they have them."""
        known = bytes.fromhex('f6ab0e1801010303')
        for flags, revision, private, left in ((0, 1, SECRET, bytes(17)), (0, 1, known + SECRET, known + bytes(17)),
                                               (0x10, 2, b'\x40\x08\x80\x10' + known + SECRET, b'\x40\x08\x80\x10' + known + bytes(17)),
                                               (0, 2, b'\x40\x08\x80\x10' + SECRET, bytes(21))):
            packets, _ = self.talk(flags, (private, private))
            packets = [change(one, b'Frame' + bytes([flags, 1]), b'Frame' + bytes([flags | 0x03, revision])) for one in packets]
            out = self.bytes_of(packets)
            for key in (b'MPA ID Req Frame', b'MPA ID Rep Frame'):
                self.assertIn(key + struct.pack('>BBH', flags, revision, len(private)) + left, out)

    def test_markers_and_checksums(self):
        """Markers stay where they are; a wrong checksum, or a marker that is, stays wrong."""
        for flags in (iwarp_talk.MARKERS | iwarp_talk.CRC, iwarp_talk.CRC):
            packets, one = self.talk(flags)
            names = [b'A name that nobody knows %d' % i for i in range(12)]
            for number, name in enumerate(names):
                one.send(one.client, call(number + 2, 3, opaque(b'F' * 32) + opaque(name), version=3) + bytes(900))
            for wrong, index in ((-1, 14), (-2, 20)):  # of the CRC
                at = [i for i, packet in enumerate(packets) if b'A name' in packet.data][index // 2]
                data = bytearray(packets[at].data)
                data[wrong] ^= 0x40
                packets[at] = packets[at]._replace(data=bytes(data))
            path, out, after = self.sanitize(packets)
            self.assertFalse(any(b'A name' in packet.data or b'that nob' in packet.data for packet in after))
            found = self.objects(path, 'check', '-n', '--check-icrc')
            # with markers, those of this conversation are wrong, all
            self.assertEqual(json.dumps(found).count('"mpa-crc"') > 2, bool(flags & iwarp_talk.MARKERS))
            self.assertGreater(json.dumps(found).count('"mpa-crc"'), 1)
            self.same(path, out)
            if flags & iwarp_talk.MARKERS:
                marks = [sum(struct.pack('>HH', 0, back) in packet.data for packet in of for back in range(512, 1024, 4))
                         for of in (packets, after)]
                self.assertGreater(marks[0], 5)

    def test_options_and_what_is_reserved(self):
        """Of options of TCP stay those that are known; reserved words, padding, Immediate Data and others do not."""
        packets, one = self.talk()
        stamps = b'\x01\x01\x08\x0a' + b'\0\1\2\3\4\5\6\7'
        odd = b'\x01\x01\xfd\x08Secret' + b'\x02\x06Secr' + b'\x03\x03\x07\x01'
        one.segment(one.client, options=stamps)
        one.segment(one.client, options=odd)
        one.segment(one.client, options=b'\x00Secrets')
        one.give(one.client, iwarp_talk.untagged(3, 0, one.next(one.client, 0), 0, call(2, 0), stag=0x53656372))
        one.give(one.client, iwarp_talk.untagged(8, 0, one.next(one.client, 0), 0, b'Secrets!'))
        one.give(one.client, iwarp_talk.untagged(7, 2, one.next(one.client, 2), 0, b'\x01\x01\0\0' + SECRET))
        one.give(one.client, iwarp_talk.untagged(10, 1, one.next(one.client, 1), 0, b'Secret..' * 6 + b'Secr'))
        self.assertEqual(sum(b'Secr' in packet.data for packet in packets), 6)
        path, out, after = self.sanitize(packets)
        self.assertEqual(len(packets), len(after))
        content = b''.join(packet.data for packet in after)
        self.assertIn(stamps, content)
        self.assertIn(b'\x01' * 16 + b'\x03\x03\x07\x01', content)
        self.assertNotIn(b'Secr', content)
        self.assertNotIn(b'cret', content)
        self.same(path, out, (('decode',), ('rpcs',), ('check', '-n')))

    def test_other_bytes_at_the_same_place(self):
        """What is sent again has the same bytes; others are zeros."""
        packets, one = self.talk()
        at = one.client.psn
        one.send(one.client, call(2, 3, opaque(b'F' * 32) + opaque(b'name of a file'), version=3))
        first = packets[-2]
        packets += [first, change(first, b'name of a file', SECRET[:14]), first]
        after = [packet for packet in self.sanitize(packets)[2] if mpa.parse(packet).seq == at & 0xFFFFFFFF]
        content = [mpa.parse(packet).bytes() for packet in after if len(mpa.parse(packet).bytes()) > 0]
        self.assertEqual(len(content), 4)
        self.assertEqual(content[0], content[1])
        self.assertEqual(content[0], content[3])
        self.assertEqual(content[2].strip(b'\0'), b'')

    def test_what_is_not_ours(self):
        """Of TCP of other ports nothing is passed, unless it is RPC-over-RDMA; of ours all is, also what opens and ends it."""
        packets, one = self.talk()
        one.disconnect()
        other = [change(packet, struct.pack('>H', 20049), struct.pack('>H', 3260)) for packet in packets]
        mixed = [packet._replace(time_ns=i) for i, packet in enumerate(other + packets)]
        plain = [packet for packet in mixed if not mpa.parse(packet) and len(packet.data) == 54]
        after = self.sanitize(mixed)[2]
        self.assertEqual(len(after), 2 * len(packets))  # it is RPC-over-RDMA, as its messages show
        self.assertGreater(len(plain), 5)
        web = [change(packet, b'MPA ID', b'GET /x') for packet in other[:-3]]
        web = [packet._replace(data=packet.data[:54] + SECRET * 4, length=122) if len(packet.data) > 54 else packet for packet in web]
        after = self.sanitize([packet._replace(time_ns=i) for i, packet in enumerate(web + packets)])[2]
        self.assertEqual(len(after), len(packets))
        self.assertIn(f'{len(web)} packets left out: no RDMA', self.stderr)


def change(packet, old, new):
    return packet._replace(data=packet.data.replace(old, new))


def sized(segment, seq, payload):
    """Its packet with another payload; checksums of IPv4 right, of TCP as they were completed by nobody."""
    data = segment.packet.data
    ip = bytearray(data[14:34])
    struct.pack_into('>H', ip, 2, segment.payload - 14 + len(payload))
    struct.pack_into('>H', ip, 10, 0)
    struct.pack_into('>H', ip, 10, roce.checksum(bytes(ip)))
    tcp = bytearray(data[segment.tcp:segment.payload]) + payload
    struct.pack_into('>I', tcp, 4, seq & 0xFFFFFFFF)
    struct.pack_into('>H', tcp, 16, roce.tcp_checksums(bytes(ip), tcp)[0])
    whole = data[:14] + bytes(ip) + bytes(tcp)
    return segment.packet._replace(data=whole, length=len(whole))


def from_number(packets, begin):
    """Each direction's sequence numbers begin there. There is no SACK."""
    less, found = {}, [mpa.parse(packet) for packet in packets]
    for one in found:
        less.setdefault(one.ends, one.seq - begin)
    for one in found:
        data = bytearray(one.packet.data)
        for at, ends in ((4, one.ends), (8, one.ends[::-1])):
            value, = struct.unpack_from('>I', data, one.tcp + at)
            struct.pack_into('>I', data, one.tcp + at, (value - less.get(ends, 0)) & 0xFFFFFFFF)
        struct.pack_into('>H', data, one.tcp + 16, roce.tcp_checksums(bytes(data[14:34]), data[one.tcp:one.end])[0])
        yield one.packet._replace(data=bytes(data))


def cut_up(packet, randomly):
    segment = mpa.parse(packet)
    payload = segment.bytes()
    if len(payload) < 8 or packet.data[12:14] != b'\x08\0' or len(packet.data) < segment.end:
        return [packet]
    at = sorted(randomly.sample(range(1, len(payload)), 2))
    return [sized(segment, segment.seq + begin, payload[begin:end])
            for begin, end in zip([0] + at, at + [len(payload)])]


def join(packets):
    """The segments that the sender of the last sent one behind the other, as one; None: it is one, or of IPv6."""
    segments = [mpa.parse(packet) for packet in packets]
    mine = [one for one in segments if one.ends == segments[-1].ends and one.bytes()]
    if len(mine) < 2 or mine[0].packet.data[12:14] != b'\x08\0' or \
            any(a.seq + len(a.bytes()) != b.seq for a, b in zip(mine, mine[1:])):
        return None
    return sized(mine[0], mine[0].seq, b''.join(one.bytes() for one in mine))


command.main()
