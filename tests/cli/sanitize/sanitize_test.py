# SPDX-License-Identifier: BSD-2-Clause
"""rpcrdma sanitize: what the commands and tshark say stays the same but for what is replaced, checksums are right, and
nothing of data and names is left."""
import functools
import glob
import json
import os
import random
import struct
import subprocess
import tempfile
import unittest

from command import CAPTURES, RPCRDMA, CommandTest, block, capture, option, pcap
from rpc_bytes import call, gss, hyper, opaque, reply, words
import cm
import ngfile
import roce
import sanitized
import talk
import tshark

MOST = 6 << 20  # bytes of a recording that is looked at here
COMMANDS = (('decode', '--cm'), ('rpcs',), ('connections',), ('credits',), ('check', '-n', '--check-icrc'), ('report',),
            ('trace', '--slowest'), ('rpcs', '--per', 'file'), ('rpcs', '--per', 'user'))
# Of tshark: names, handles, who somebody is, file data
NAMES = ('nfs.name', 'nfs.full_name', 'nfs.readlink.data', 'nfs.symlink.to', 'nfs.readdir.entry.name',
         'nfs.readdir.entry3.name', 'nfs.readdirplus.entry.name', 'nfs.symlink.linktext', 'nfs.entry_name',
         'nfs.pathname.component', 'nfs.fattr4_owner', 'nfs.fattr4_owner_group', 'nfs.machinename4', 'nfs.nii_name4',
         'rpc.auth.machinename', 'nfs.xattr.key')
BYTES = ('nfs.fhandle', 'nfs.data', 'nfs.stateid.other', 'nfs.open_owner4', 'nfs.nfs_client_id4.id', 'nfs.verifier',
         'nfs.session_id4', 'nfs.scope', 'nfs.majorid4')


def recordings(*carriers):
    folders = [CAPTURES] + [one for one in (os.environ.get('RPCRDMA_RECORDINGS'),) if one]
    found = {}
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, '*-*', 'capture.pcap'))):
            name = os.path.basename(os.path.dirname(path))
            if os.path.getsize(path) <= MOST and name.split('-')[0] in (carriers or ('roce', 'iwarp')):
                found.setdefault(name, path)
    return found


@functools.lru_cache(maxsize=None)
def known_fields():
    return set(subprocess.run([tshark.PROGRAM, '-G', 'fields'], capture_output=True, text=True, check=True).stdout.split('\t'))


class Sanitize(CommandTest):
    made = {}

    @classmethod
    def setUpClass(cls):
        cls.stays = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.stays.cleanup)
        cls.key = os.path.join(cls.stays.name, 'key')
        with open(cls.key, 'wb') as file:  # one, so that each run is the same
            file.write(b'one and the same')

    def sanitize(self, path, *more, name='out.pcapng', status=0):
        out = os.path.join(self.folder, name)
        self.run_command('sanitize', '-q', path, '-o', out, *more, status=status)
        return out

    def once(self, path):
        """Of a recording, made for all tests."""
        if path not in self.made:
            self.made[path] = os.path.join(self.stays.name, f'{len(self.made)}.pcapng')
            self.run_command('sanitize', '-q', '--key', self.key, path, '-o', self.made[path])
        return self.made[path]

    def kept(self, path):
        """The packets that should be passed, as they were, in a file of their own."""
        return self.file_of(sanitized.ours(path))

    def file_of(self, packets):
        out = os.path.join(self.folder, 'kept.pcap')
        pcap.write(out, packets)
        return out

    def objects(self, path, *command):
        run = subprocess.run([RPCRDMA, *command, '--json', path], capture_output=True, check=False, timeout=300)
        self.assertIn(run.returncode, (0, 1), run.stderr)
        return [json.loads(line) for line in run.stdout.splitlines()]

    def test_nothing_there(self):
        """Said as every command says it."""
        path = self.file_of([packet._replace(data=packet.data[:12] + b'\x08\x06' + packet.data[14:])
                             for packet in self.packets()])
        self.run_command('decode', path, errors=1)
        want = self.stderr
        self.run_command('sanitize', path, '-o', os.path.join(self.folder, 'none.pcapng'), errors=3)
        self.assertEqual(self.stderr.splitlines()[0] + '\n', want)
        self.assertIn('ARP', want)
        self.run_command('sanitize', capture(), '-o', os.path.join(self.folder, 'some.pcapng'), errors=4)
        self.assertNotIn('no RPC-over-RDMA', self.stderr)

    def test_the_same_but_for_what_is_replaced(self):
        for name, path in recordings().items():
            with self.subTest(name):
                kept, out, mapping = self.kept(path), self.once(path), sanitized.Mapping()
                for command in COMMANDS:
                    order = sanitized.ordered if '--per' in command else list
                    one, other = order(self.objects(kept, *command)), order(self.objects(out, *command))
                    if command[0] == 'report':
                        other[0].pop('silent_ns', None)  # of packets behind the last that is kept: cli.report_silent_end
                    self.assertTrue(one or command[0] == 'trace')
                    mapping.compare(one, other, ' '.join(command))
                    mapping.forth = {key: value for key, value in mapping.forth.items() if key[0] != 'path'}

    def test_headers_stay_and_checksums_are_right(self):
        """But for addresses everything up to the payload is as it was, and IP checksum and ICRC are right; computed
        here, in another way."""
        for name, path in recordings('roce').items():
            with self.subTest(name):
                before = [packet for packet, _ in sanitized.pairs(path)]
                after = ngfile.read(self.once(path)).packets
                self.assertEqual(len(before), len(after))
                for old, new in zip(before, after):
                    self.assertEqual((old.time_ns, old.length, len(old.data)), (new.time_ns, new.length, len(new.data)))
                    one, other = roce.parse(old.data, old.length), roce.parse(new.data, new.length)
                    self.assertEqual((one.opcode, one.dst_qpn, one.psn, one.length),
                                     (other.opcode, other.dst_qpn, other.psn, other.length))
                    if one.dst_qpn != roce.QPN_CM:
                        self.assertEqual(one.extension, other.extension)
                    ip, rest = new.data[14:34], new.data[34:-4]
                    self.assertEqual(roce.checksum(ip), 0)
                    self.assertEqual(roce.icrc(ip, rest), new.data[-4:])
                    self.assertEqual((ip[:10], rest[:8]), (old.data[14:24], old.data[34:42]))
                    self.assertNotEqual(ip[12:16], old.data[26:30])
                    self.assertNotEqual(new.data[:6], old.data[:6])
                    self.assertEqual(new.data[0] & 3, 2)  # unicast, locally administered

    def test_nothing_of_data_is_left(self):
        for name, path in recordings().items():
            with self.subTest(name):
                data = sanitized.windows(sanitized.moved_data(path))
                out = sanitized.windows(packet.data for packet in ngfile.read(self.once(path)).packets)
                if name != 'roce-long-call':  # it has long messages only
                    self.assertGreater(len(data), 100)
                self.assertEqual(data & out, set())

    @unittest.skipIf(tshark.missing(), 'no tshark')
    def test_nothing_of_names_is_left(self):
        for name, path in recordings().items():
            with self.subTest(name):
                found = set()
                fields = [word for field in NAMES + BYTES for word in ('-e', field)]
                for line in tshark.read(path, '-T', 'fields', '-E', 'separator=/t', '-E', 'aggregator=/s', *fields):
                    values = line.split('\t')
                    found.update(word.encode() for value in values[:len(NAMES)] for word in value.split(' '))
                    for value in values[len(NAMES):]:
                        for word in value.split(' '):
                            try:
                                found.add(bytes.fromhex(word.replace(':', '')))
                            except ValueError:
                                pass
                found = sanitized.windows(found, 4)
                out = sanitized.windows((packet.data for packet in ngfile.read(self.once(path)).packets), 4)
                self.assertGreater(len(found), 20)
                # an inode number of three bytes and five zeros comes out of the key by chance, too
                self.assertEqual({one for one in found & out if len(one.strip(b'\0')) > 3}, set())

    @unittest.skipIf(tshark.missing(), 'no tshark')
    def test_tshark_reads_it_like_the_original(self):
        """Wireshark as released: as many packets are malformed as were, it has the same to say of each, and sees the
        same fields in it."""
        for name, path in recordings().items():
            if os.path.getsize(path) > 1 << 20:
                continue
            with self.subTest(name):
                kept, out = self.kept(path), self.once(path)
                ask = ('-o', 'ip.check_checksum:TRUE', '-T', 'fields', '-e', 'frame.number', '-e', '_ws.malformed', '-e',
                       '_ws.expert.message', '-e', 'frame.protocols', '-e', 'rpc.xid', '-e', 'rpc.procedure',
                       '-e', 'nfs.procedure_v3', '-e', 'nfs.opcode', '-e', 'nfs.status', '-e', 'nfs.nfsstat4',
                       '-e', 'nfs.offset4', '-e', 'nfs.count4', '-e', 'nfs.offset3', '-e', 'nfs.count3', '-e',
                       'nfs.fattr3.type', '-e', 'nfs.nfs_ftype4', '-e', 'nfs.fattr4.size', '-e', 'nfs.fattr3.size',
                       '-e', 'nfs.mode', '-e', 'nfs.access_supported', '-e', 'nfs.seqid', '-e', 'nfs.slotid',
                       '-e', 'nfs.reco_attr', '-e', 'nfs.fhsize', '-e', 'nfs.stateid.seqid')
                known = known_fields()
                fields = [word for i, word in enumerate(ask) if ask[i - 1] == '-e']
                for field in fields:
                    if field not in known:
                        at = ask.index(field)
                        ask = ask[:at - 1] + ask[at + 1:]
                self.assertGreater(len(ask), 20)
                for one, other in zip(tshark.read(kept, *ask), tshark.read(out, *ask)):
                    self.assertEqual(one, other)

    def test_prefixes_stay_and_names_are_the_same_with_one_key(self):
        key = self.file(b'sixteen bytes at least', 'key')
        one, other = capture('roce-nfs3-mini'), capture('roce-nfs41-mini')
        first = self.sanitize(one, '--key', key, name='1.pcapng')
        again = self.sanitize(one, '--key', key, name='2.pcapng')
        second = self.sanitize(other, '--key', key, name='3.pcapng')
        fresh = self.sanitize(one, name='4.pcapng')
        contents = []
        for path in (first, again, second, fresh):
            with open(path, 'rb') as file:
                contents.append(file.read())
        self.assertEqual(contents[0], contents[1])
        self.assertNotEqual(contents[0], contents[3])
        addresses = [{one.src for packet in ngfile.read(path).packets
                      for one in (roce.parse(packet.data, packet.length),)} for path in (first, second)]
        self.assertEqual(addresses[0], addresses[1])  # both are of the same two hosts
        server, client = (struct.unpack('>I', bytes(map(int, one.split('.'))))[0] for one in sorted(addresses[0]))
        # 192.168.77.1 and .11: 28 bits in common, the next differs
        self.assertEqual((server ^ client) >> 3, 1)

    def test_times_are_shifted(self):
        path = capture('roce-nfs41-mini')
        key = self.file(b'sixteen bytes at least', 'key')
        plain = ngfile.read(self.sanitize(path, '--key', key)).packets
        moved = ngfile.read(self.sanitize(path, '--key', key, '--shift-time=-1000000')).packets
        self.assertEqual({one.time_ns - other.time_ns for one, other in zip(plain, moved)}, {10**15})
        if not tshark.missing():
            def times(packets):
                kept = self.file_of([pcap.Packet(i, *packet[1:4]) for i, packet in enumerate(packets)])
                told = tshark.read(kept, '-T', 'fields', '-e', 'nfs.nfstime4.seconds', '-e', 'nfs.nfstime4.nseconds',
                                   '-E', 'aggregator=/s')
                return [[int(word) for word in line.split()] for line in told]
            found = 0
            for one, other in zip(times(plain), times(moved)):
                self.assertEqual(len(one), len(other))
                for a, b in zip(one, other):
                    self.assertIn(a - b, (0, 1000000))
                    found += a - b == 1000000
            self.assertGreater(found, 50)

    def test_damaged_and_cut(self):
        """Whatever the input, what comes out can be read, and has nothing of the data."""
        for name in ('roce-nfs3-mini', 'roce-nfs41-mini', 'roce-long-call'):
            packets = self.packets(name)
            data = sanitized.windows(sanitized.moved_data(capture(name)), 5)
            randomly = random.Random(name)
            for i in range(12):
                few = []
                for packet in packets:
                    body = bytearray(packet.data)
                    if i % 3 != 0 and randomly.random() < .2:
                        for _ in range(randomly.choice((1, 1, 4, 50))):
                            body[randomly.randrange(14, len(body))] = randomly.randrange(256)
                    if i % 3 != 1:
                        body = body[:(60, 75, 100, 128, 150, 200, 300, 1000)[randomly.randrange(8) if i > 5 else i]]
                    if randomly.random() >= .02:
                        few.append(packet._replace(data=bytes(body)))
                with self.subTest(f'{name} {i}'):
                    out = ngfile.read(self.sanitize(self.file_of(few), '--key', self.key)).packets
                    if i > 5:
                        self.assertGreater(len(out), len(few) // 4)
                    self.assertEqual(sanitized.windows((one.data for one in out), 5) & data, set())

    def test_cut_off_file(self):
        with open(capture(), 'rb') as file:
            path = self.file(file.read()[:50000])
        out = os.path.join(self.folder, 'cut.pcapng')
        self.run_command('sanitize', '-q', path, '-o', out, status=2)
        self.assertGreater(len(ngfile.read(out).packets), 50)

    def test_what_is_left_out_is_told(self):
        self.run_command('sanitize', capture(), '-o', os.path.join(self.folder, 'out.pcapng'), errors=4)
        lines = self.stderr.splitlines()
        kept = len(list(sanitized.pairs(capture())))
        self.assertIn(f'{kept} packets written', lines[0])
        told = sum(int(line.split()[1]) for line in lines[1:3])
        self.assertEqual(told, len(self.packets()) - kept)

    def test_iwarp_beside(self):
        """What else there is, is written."""
        path = self.file_of([packet._replace(time_ns=n) for n, packet in
                             enumerate(self.packets('iwarp-nfs3-mini') + self.packets())])
        self.assertGreater(len(ngfile.read(self.sanitize(path)).packets), 100)

    def test_discriminators(self):
        """Whether there is a list, or more of it, is 0 or 1; another value is one that nobody knows, and stays another one."""
        secret, packets = b'SECR', self.packets()

        def odd(data, at):
            more = data[at:at + 4] != bytes(4)
            data[at:at + 4] = secret if more else bytes(4)
            return more
        for number, packet in enumerate(packets):
            data = bytearray(packet.data)
            at = 54 + 4 * (data[42:43] == b'\x17')  # of the header
            if (data[12:14] != b'\x08\0' or data[36:38] != b'\x12\xb7' or data[42] not in (0x04, 0x17) or
                    data[at + 4:at + 8] != b'\0\0\0\1' or int.from_bytes(data[at + 12:at + 16], 'big') > 1):
                continue
            at += 16
            while odd(data, at):
                at += 24
            at += 4
            while odd(data, at):
                at += 8 + 16 * int.from_bytes(data[at + 4:at + 8], 'big')
            odd(data, at + 4)
            packets[number] = packet._replace(data=bytes(data))
        out = self.sanitize(path := self.file_of(packets))
        with open(out, 'rb') as file:
            self.assertEqual(file.read().count(secret), 0)
        rules = [[one['rule'] for line in self.run_command('check', '--json', of, status=1, errors=None).splitlines()
                  for one in json.loads(line)['findings']] for of in (path, out)]
        self.assertEqual(*rules)
        self.assertGreater(rules[0].count('noncanonical'), 10)

    def test_what_the_capture_lost_is_told(self):
        """By the counts of the file, which the result has, too."""
        path, counted = os.path.join(self.folder, 'in.pcapng'), os.path.join(self.folder, 'counted.pcapng')
        self.run_command('capture', '-q', '-r', capture(), '-w', path)
        with open(path, 'rb') as file:
            data = file.read()
        with open(counted, 'wb') as file:
            file.write(data + block(5, bytes(12) + option(5, struct.pack('<Q', 3)) + option(0, b'')))
        out = os.path.join(self.folder, 'out.pcapng')
        self.run_command('sanitize', counted, '-o', out, errors=5)
        self.assertIn(f'{counted}: 3 packets were lost before they were captured\n', self.stderr)
        self.run_command('decode', out, errors=1)
        self.assertIn('3 packets were lost', self.stderr)

    def test_nothing_else_of_the_file_is_left(self):
        """Names of interfaces, comments, who captured: pcapng tells more than packets."""
        packets = self.packets()
        blocks = [struct.pack('=IHHq', 0x1A2B3C4D, 1, 0, -1) + option(2, b'secret-hardware') + option(4, b'secret-program'),
                  struct.pack('=HHI', 1, 0, 0) + option(2, b'secret-interface') + option(9, b'\x09') + option(1, b'secret-note')]
        blob = b''.join(block(kind, body) for kind, body in zip((0x0A0D0D0A, 1), blocks))
        blob += block(4, struct.pack('=HH', 1, 16) + b'\x01\x02\x03\x04secret-host\0' + bytes(4))
        for packet in packets:
            body = struct.pack('=IIIII', 0, packet.time_ns >> 32, packet.time_ns & 0xFFFFFFFF, len(packet.data),
                               packet.length) + packet.data + bytes(-len(packet.data) % 4)
            blob += block(6, body + option(1, b'secret-comment'))
        out = self.sanitize(self.file(blob, 'in.pcapng'))
        with open(out, 'rb') as file:
            self.assertNotIn(b'secret', file.read())
        self.assertEqual(len(ngfile.read(out).packets), len(list(sanitized.pairs(capture()))))

    def conversation(self, *messages, cut=()):
        """A capture of these: (from the client?, bytes). cut: (which packet that has those bytes, where in them)."""
        out = []
        one = talk.Talk(out, talk.End('10.0.0.1', 17, 100), talk.End('10.0.0.2', 18, 500), talk.Clock())
        one.connect(cm.IP_SERVICE | 20049)
        for from_client, message in ((True, call(1, 0)), (False, reply(1))) + messages:
            one.send(one.client if from_client else one.server, message)
        for mark, more in cut:
            i = next(i for i, packet in enumerate(out) if mark in packet.data)
            out[i] = out[i]._replace(data=out[i].data[:out[i].data.index(mark) + more])
        return out

    def secrets(self, packets, *more, errors):
        """The bytes of the packets that go out."""
        out = os.path.join(self.folder, 'secrets.pcapng')
        self.run_command('sanitize', self.file_of(packets), '-o', out, *more, errors=errors)
        return b''.join(packet.data for packet in ngfile.read(out).packets)

    def test_behind_a_datagram(self):
        """A MAD has 256 bytes; what else is in the packet is nothing that is known."""
        packets = self.conversation()
        one = talk.Talk(packets, talk.End('10.0.0.1', 17, 100), talk.End('10.0.0.2', 18, 500), talk.Clock())
        one.datagram(one.client, cm.rtu(one.local_id, one.remote_id) + b'behind the datagram' * 2)
        self.assertFalse(b'behind the' in self.secrets(packets, errors=1))

    def test_numbers_among_offsets(self):
        """LAYOUTCOMMIT has a time, CB_LAYOUTRECALL a file system (RFC 8881 sections 18.42.1, 20.3.1)."""
        stateid, then, fsid = words(1) + b'A' * 12, hyper(1600000000), hyper(0xdeadbeefcafe0001) + hyper(0xdeadbeefcafe0002)
        commit = opaque() + words(2, 1, 49) + hyper(0x5000) + hyper(0x6000) + words(0) + stateid + words(1) + \
            hyper(0x7000) + words(1) + then + words(5, 1) + opaque(b'body')
        recall = opaque() + words(1, 0x40000000, 1, 5, 1, 1, 0, 2) + fsid
        out = self.secrets(self.conversation((True, call(2, 1, commit)),
                                             (False, call(3, 1, recall, program=0x40000000, version=1))),
                           '--shift-time=-1000000', errors=1)
        self.assertTrue(hyper(0x5000) + hyper(0x6000) in out)
        self.assertTrue(hyper(0x7000) + words(1) + hyper(1599000000) in out)
        self.assertTrue(words(1, 1, 0, 2) in out)
        self.assertFalse(fsid[:8] in out)
        self.assertFalse(fsid[8:] in out)

    def test_protected(self):
        """RPCSEC_GSS (RFC 2203 section 5.3.2): with integrity the Reply is read like any other; where the Call does
        not say any more how it is protected nothing of the Reply is."""
        size, check = 0x123456789a, opaque(b'C' * 28)  # 0x4000 is in a REQ where an address' last byte became 0
        attributes = words(1, 1, 0o644, 1, 1001, 1002) + hyper(size) + hyper(size + 1) + words(0, 0) + \
            hyper(0x77777777) + hyper(0x88888888) + words(1, 2) * 3
        arguments, results = opaque(b'F' * 32) + words(31), words(0) + attributes + words(31)
        for number in (1, 5):  # which would be a boolean, if it were none
            held = gss(1, 0, number, 2)
            sent = call(2, 4, opaque(words(number) + arguments) + check, version=3, cred=held)
            back = reply(2, opaque(words(number) + results) + check, verf=words(6) + opaque(b'M' * 28))
            whole = self.secrets(self.conversation((True, sent), (False, back)), errors=1)
            self.assertTrue(hyper(size) + hyper(size + 1) in whole)
            self.assertFalse(words(1001, 1002) in whole)
            for shown in (4, 12, 16):  # of the credential; 4: its flavour
                cut = self.secrets(self.conversation((True, sent), (False, back), cut=((held, shown),)), errors=2)
                self.assertFalse(hyper(size) in cut)
                self.assertFalse(words(1001, 1002) in cut)

    def test_data_where_a_chunk_should_be(self):
        """A Reply says that a Write chunk has the data, and has it inline: it is not read as what follows."""
        data = words(3, 0, 0x53656372, 0x65742121) + b'more of it' * 2
        listed = words(0, 1, 1, 0x1234, len(data)) + hyper(0x10000) + words(0, 0)
        arguments = opaque() + words(0, 2, 25) + words(1) + b'A' * 12 + hyper(0) + words(len(data)) + words(10)
        back = reply(2, words(0) + opaque() + words(2, 25, 0, 1, len(data)) + data + words(10, 0) + opaque(b'H' * 16),
                     lists=listed)
        out = self.secrets(self.conversation((True, call(2, 1, arguments, lists=listed)), (False, back)), errors=2)
        self.assertTrue(words(25, 0, 1, len(data)) in out)
        self.assertFalse(b'Secr' in out)
        self.assertFalse(b'et!!' in out)

    def test_what_is_no_discriminator(self):
        """A word that is none of the values that it may have is not known, either."""
        out = self.secrets(self.conversation((True, call(2, 4, opaque(b'F' * 32) + words(31), version=3)),
                                             (False, reply(2, words(0) + b'Secret words of somebody'))), errors=2)
        self.assertFalse(b'Secr' in out)

    def test_what_is_no_rpc_message(self):
        """A Send of something else: its first words are neither an XID nor a type, or no version of RPC's."""
        for before in ((), (2, 0), (2, 1), (2, 1, 0, 0, 0)):
            out = self.secrets(self.conversation((True, words(2, 1, 32, 0, 0, 0, 0, *before) + b'Secret of somebody..')),
                               errors=2)
            self.assertFalse(b'Secr' in out or b'et o' in out or b'f so' in out, before)

    def test_half_of_a_name(self):
        """".." stays; where one byte of two was captured nobody knows that."""
        names = [call(xid, 3, opaque(b'F' * 32) + opaque(b'..'), version=3) for xid in (2, 3)]
        mark = b'F' * 32 + words(2)
        packets = self.conversation(*((True, name) for name in names))
        one = max(i for i, packet in enumerate(packets) if mark in packet.data)
        packets[one] = packets[one]._replace(data=packets[one].data[:packets[one].data.index(mark) + len(mark) + 1])
        out = self.secrets(packets, errors=1)
        self.assertEqual(out.count(words(2) + b'..\0\0'), 1)
        self.assertFalse(words(2) + b'.' in out.replace(words(2) + b'..\0\0', b''))

    def test_half_of_immediate_data(self):
        packets = self.conversation()
        one = talk.Talk(packets, talk.End('10.0.0.1', 17, 101), talk.End('10.0.0.2', 18, 501), talk.Clock())
        one.send(one.client, call(2, 0), immediate=0x53656372)
        i = next(i for i, packet in enumerate(packets) if b'Secr' in packet.data)
        packets[i] = packets[i]._replace(data=packets[i].data[:packets[i].data.index(b'Secr') + 3])
        self.assertFalse(b'Sec' in self.secrets(packets, errors=1))

    def test_times_before_the_epoch(self):
        """They are kept, as they were apart."""
        packets = self.conversation()
        self.secrets(packets, '--shift-time=-2000000000', errors=1)
        written = ngfile.read(os.path.join(self.folder, 'secrets.pcapng'))
        self.assertEqual(len(written.interfaces), 1)
        self.assertEqual([one.time_ns for one in written.packets], [one.time_ns - 2 * 10**18 for one in packets])

    def test_usage(self):
        out = os.path.join(self.folder, 'out.pcapng')
        self.run_command('sanitize', capture(), status=2)
        self.assertIn('-o FILE', self.stderr)
        self.run_command('sanitize', capture(), '-o', out + '.zst', status=2)
        self.run_command('sanitize', '-o', out, status=2)
        self.run_command('sanitize', '-i', 'lo', '-o', out, status=2)
        self.run_command('sanitize', capture(), '-o', out, '--shift-time', '9999999999999', status=2)
        self.run_command('sanitize', capture(), '-o', out, '--key', self.file(b'short', 'key'), status=2)
        self.run_command('sanitize', capture(), '-o', out, '--key', os.path.join(self.folder, 'none'), status=2)
        self.assertFalse(os.path.exists(out))
        key = self.file(b'sixteen bytes at least', 'key')
        self.run_command('sanitize', capture(), '-o', key, '--key', key, status=2)
        with open(key, 'rb') as file:
            self.assertEqual(file.read(), b'sixteen bytes at least')
        with open(capture(), 'rb') as whole:
            same = self.file(whole.read(), 'same.pcap')
        self.run_command('sanitize', same, '-o', same, status=2)
        run = subprocess.run([RPCRDMA, 'sanitize', '-q', capture(), '-o', '-'], capture_output=True, check=True)
        self.assertEqual(run.stdout[:4], struct.pack('=I', 0x0A0D0D0A))


def option(code, value):
    return struct.pack('=HH', code, len(value)) + value + bytes(-len(value) % 4)


def block(kind, body):
    if kind != 4:
        body += struct.pack('=I', 0)
    total = struct.pack('=I', len(body) + 12)
    return struct.pack('=I', kind) + total + body + total


if __name__ == '__main__':
    unittest.main()
