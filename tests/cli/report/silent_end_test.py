# SPDX-License-Identifier: BSD-2-Clause
"""report where a server hangs and nothing passes any more: until when packets were awaited is in the file, or is not known."""
import json
import os
import re
import struct
import subprocess
import time
import unittest

import command
from command import CommandTest
from conversation import ConversationTest, pass_by
import pcap

import rule_talk
import rules

SECOND = 10**9
LATEST = (1 << 64) - 1


def block(kind, body):
    length = len(body) + 12
    return struct.pack('=II', kind, length) + body + struct.pack('=I', length)


def option(code, value):
    return struct.pack('=HH', code, len(value)) + value + bytes(-len(value) % 4)


def time_of(ns):
    return struct.pack('=II', ns >> 32, ns & 0xffffffff)


class SilentEnd(CommandTest):
    def pcapng(self, name, packets, end_ns=None, counts=False):
        """Nanoseconds; end_ns: isb_endtime, as dumpcap and Wireshark write it."""
        path = os.path.join(self.folder, name)
        with open(path, 'wb') as out:
            out.write(block(0x0a0d0d0a, struct.pack('=IHHq', 0x1a2b3c4d, 1, 0, -1)))
            out.write(block(1, struct.pack('=HHI', 1, 0, 0) + option(9, bytes([9])) + option(0, b'')))
            for packet in packets:
                size = len(packet.data)
                out.write(block(6, bytes(4) + time_of(packet.time_ns) + struct.pack('=II', size, size) + packet.data +
                                bytes(-size % 4)))
            ends = b'' if end_ns is None else option(3, time_of(end_ns))
            if counts:
                ends += option(4, struct.pack('=Q', len(packets)))
            if ends:
                out.write(block(5, bytes(4) + time_of(packets[-1].time_ns) + option(2, time_of(packets[0].time_ns)) +
                                ends + option(0, b'')))
        return path

    def hang(self, acknowledged=True):
        """The server has three Calls, and nothing passes any more."""
        def say(c, _):
            c.null()
            for _ in range(3):
                c.call(rule_talk.NULL)
            if not acknowledged:
                c.packets.pop()
        path = os.path.join(self.folder, 'hang.pcap')
        rules.write(path, say, True)
        return path, pcap.read(path)[0]

    def report(self, *paths):
        return json.loads(self.run_command('report', '--json', *paths))

    def test_the_file_says(self):
        _, packets = self.hang()
        last = packets[-1].time_ns
        path = self.pcapng('said.pcapng', packets, last + 60 * SECOND)
        one = self.report(path)
        self.assertEqual((one['verdict'], one['silent_ns'], one['under_way']), ('causes', 60 * SECOND, 0))
        cause, = one['causes']
        self.assertEqual((cause['cause'], cause['rpcs']), ('unanswered', 3))
        self.assertIn('for the last 60.0 s of the capture', cause['text'])
        self.assertIn('silent    60.000 s from the last packet', self.run_command('report', path))

    def test_hang_of_all(self):
        """What a server that hangs costs is what its Calls waited. Of many connections it is one cause."""
        for clients, answered in ((2, False), (6, False), (6, True)):
            def say(c, _, clients=clients, answered=answered):
                ones = [rule_talk.Conversation(c.packets, number=n, clock=c.clock, hosts=(f'192.0.2.{20 + n}', rule_talk.SERVER))
                        for n in range(1, clients + 1)]
                for one in ones + ones:
                    one.getattr()
                    c.clock.now += SECOND // 10
                for one in ones:
                    one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                other = rule_talk.Conversation(c.packets, number=9, clock=c.clock, hosts=('192.0.2.40', rule_talk.SERVER))
                c.clock.now += 600 * SECOND
                other.getattr() if answered else other.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            path = os.path.join(self.folder, 'hang.pcap')
            rules.write(path, say, True)
            causes = self.report(path)['causes']
            self.assertEqual({one['cause'] for one in causes}, {'unanswered'})
            for one in causes:
                self.assertAlmostEqual(one['cost_ns'], 600 * SECOND, delta=SECOND // 10)
                self.assertEqual(one['against'], 'a Reply may not have been captured')
            if clients == 2:
                self.assertEqual([one['text'] for one in causes],
                                 [f'1 Call on connection {n} was never answered: 600.0 s passed until the capture ended. '
                                  "The server's host acknowledged it." for n in (1, 2)])
                continue
            cause, = causes
            self.assertEqual((cause['count'], cause['rpcs'], cause['connections']), (6, 6, list(range(1, 7))))
            self.assertIn('The server 192.0.2.1 never answered 6 Calls on 6 connections', cause['text'])
            self.assertEqual('it answered nobody from 1.2 s on' in cause['text'], not answered, cause['text'])

    def test_hang_of_too_many(self):
        """What --max-memory left out of many Calls is not said not to be there."""
        def say(c, _):
            ones = [rule_talk.Conversation(c.packets, number=n, clock=c.clock, hosts=(f'192.0.2.{20 + n}', rule_talk.SERVER))
                    for n in range(1, 7)]
            for one in ones:
                one.getattr()
            for one in ones * 100:
                one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            c.clock.now += 60 * SECOND
            ones[0].call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
        path = os.path.join(self.folder, 'many.pcap')
        rules.write(path, say, True)
        for mebibytes, text in (('1', 'never answered at least '), ('128', 'never answered 600 Calls on 6 connections')):
            causes = json.loads(self.run_command('report', '--json', '--max-memory', mebibytes, path, errors=int(mebibytes == '1')))['causes']
            one, = [one for one in causes if one['cause'] == 'unanswered']
            self.assertIn(text, one['text'])
            self.assertEqual('memory-limit' in [one['cause'] for one in causes], mebibytes == '1')

    def test_not_captured(self):
        """What the capture lacks explains a Call: it is not under way, too, as RPCs behind it were answered."""
        def say(c, _):
            for _ in range(5):
                c.null()
            c.null()
            del c.packets[-2]  # the Reply; its Ack is there
            for _ in range(5):
                c.null()
        path = os.path.join(self.folder, 'lacks.pcap')
        rules.write(path, say, True)
        one = self.report(path)
        self.assertEqual(([cause['cause'] for cause in one['causes']], one['under_way']), (['capture-incomplete'], 0))
        self.assertNotIn('under way', self.run_command('report', path))

    def test_metrics(self):
        """How long the oldest Call waits: until then, too."""
        _, packets = self.hang()
        for end, least in ((packets[-1].time_ns + 60 * SECOND, 60), (None, 0)):
            text = self.run_command('metrics', self.pcapng('said.pcapng', packets, end))
            waits = re.findall(r'^rpcrdma_rpc_oldest_waiting_seconds\{.*\} (.*)$', text, re.M)
            self.assertEqual([int(float(one)) for one in waits], [least])

    def test_what_is_left_out(self):
        """Packets that are no RDMA show, too, that the capture went on: also where a filter, sanitize or capture leaves
        them out."""
        _, packets = self.hang()
        other = packets[-1]._replace(data=b'\xff' * 6 + b'\x02' + bytes(5) + b'\x88\xcc' + bytes(46), length=60)
        path, out = self.pcapng('more.pcapng', packets + [other._replace(time_ns=other.time_ns + n * SECOND)
                                                         for n in (20, 60)]), os.path.join(self.folder, 'out.pcapng')
        wanted = self.report(path)
        self.assertEqual([(one['cause'], one['rpcs']) for one in wanted['causes']], [('unanswered', 3)])
        rdma = ('-f', 'udp port 4791')
        for arguments in ((), ('sanitize', path, '-o', out), ('sanitize', *rdma, path, '-o', out),
                          ('capture', '-r', path, '--rpcrdma-only', '-w', out), ('capture', '-r', path, *rdma, '-w', out)):
            if arguments:
                self.run_command(*arguments, '-q')
            one = self.report(out) if arguments else self.report(*rdma, path)
            self.assertEqual([cause['cause'] for cause in one['causes']], ['unanswered'], arguments)
            self.assertEqual(one['silent_ns'], 60 * SECOND, arguments)
        for arguments in (('-c', str(len(packets) - 1), *rdma), ('-f', 'udp port 4791 or ether proto 0x88cc')):
            self.assertNotIn('silent_ns', self.report(*arguments, path))
        self.run_command('sanitize', '--shift-time', '-1000', path, '-o', out, '-q')
        self.assertEqual(self.report(out)['silent_ns'], 60 * SECOND)

    def test_soon(self):
        """Half a second is no hang, and it is known."""
        _, packets = self.hang()
        path = self.pcapng('soon.pcapng', packets, packets[-1].time_ns + SECOND // 2)
        one = self.report(path)
        self.assertEqual((one['verdict'], one['silent_ns'], one['under_way']), ('healthy', SECOND // 2, 3))
        text = self.run_command('report', path)
        self.assertTrue(text.startswith('Healthy: '), text)
        self.assertIn('3 Calls were under way when the capture ended.', text)

    def test_not_believed(self):
        """A time before the last packet, years behind it, or none at all."""
        _, packets = self.hang()
        last = packets[-1].time_ns
        for end in (0, 1, last - SECOND, last + 400 * 86400 * SECOND, LATEST):
            one = self.report(self.pcapng('lie.pcapng', packets, end))
            self.assertEqual((one['verdict'], one.get('silent_ns'), one['under_way']), ('healthy', None, 3), end)

    def test_not_known(self):
        for acknowledged in (True, False):
            path, _ = self.hang(acknowledged)
            text = self.run_command('report', path)
            self.assertEqual(text.startswith('Healthy up to its last packet: '), acknowledged, text)
            self.assertIn('3 Calls were under way when the last packet passed: how long they waited', text)
            page = os.path.join(self.folder, 'page.html')
            self.run_command('report', '--html', page, path)
            with open(page, encoding='utf-8') as html:
                self.assertEqual('class="verdict healthy"' in html.read(), not acknowledged)

    def test_several(self):
        """The end is that of the last: one that ended before says nothing."""
        _, packets = self.hang()
        half = len(packets) // 2
        first = self.pcapng('a.pcapng', packets[:half], packets[half].time_ns)
        for end, silent in ((packets[-1].time_ns + 5 * SECOND, 5 * SECOND), (None, None)):
            one = self.report(first, self.pcapng('b.pcapng', packets[half:], end))
            self.assertEqual(one.get('silent_ns'), silent)
            self.assertEqual([cause['rpcs'] for cause in one['causes']], [3] if silent else [])

    def written(self, path, *what):
        """What report says of what such a command writes."""
        out = os.path.join(self.folder, 'written.pcapng')
        where = '-o' if what[0] == 'sanitize' else '-w'
        self.run_command(what[0], '-q', *what[1:], path, where, out)
        one = self.report(out)
        return one['verdict'], one.get('silent_ns'), one['under_way']

    def test_copied(self):
        """sanitize and capture -r: the end is that of what they read, or none; times may be shifted."""
        _, packets = self.hang()
        end = packets[-1].time_ns + 60 * SECOND
        for what in (['sanitize'], ['sanitize', '--shift-time=-1000000'], ['capture', '-r'], ['capture', '--slice', '-r']):
            for counts in (False, True):
                path = self.pcapng('said.pcapng', packets, end, counts)
                self.assertEqual(self.written(path, *what), ('causes', 60 * SECOND, 0), what)
                for lie in (None, packets[-1].time_ns - 1, LATEST):
                    path = self.pcapng('said.pcapng', packets, lie, counts)
                    self.assertEqual(self.written(path, *what), ('healthy', None, 3), (what, lie))
        path = self.pcapng('said.pcapng', packets, end, True)
        for name in ('sanitize', 'capture'):
            more = ['-r'] if name == 'capture' else []
            self.assertEqual(self.written(path, name, '-c', str(len(packets) - 1), *more)[:2], ('healthy', None))
        # the last packet is no RPC-over-RDMA, and the end that the file tells is before it: it was not the end
        stray = packets[-1]._replace(time_ns=end + SECOND, data=bytes(60))
        path = self.pcapng('stray.pcapng', [*packets, stray], end, True)
        self.assertEqual(self.written(path, 'sanitize'), ('causes', 61 * SECOND, 0))

    def test_copied_to_several(self):
        """Of a ring the last file alone reaches to the end."""
        _, packets = self.hang()
        path = self.pcapng('said.pcapng', packets, packets[-1].time_ns + 60 * SECOND, True)
        folder = os.path.join(self.folder, 'ring')
        os.mkdir(folder)
        self.run_command('capture', '-q', '-b', 'filesize:1', '-r', path, '-w', os.path.join(folder, 'r.pcapng'))
        names = sorted(os.listdir(folder))
        self.assertGreater(len(names), 1)
        silent = [self.report(os.path.join(folder, name)).get('silent_ns') for name in names]
        self.assertEqual(silent, [None] * (len(names) - 1) + [60 * SECOND])

    def piped(self, arguments, late_ns):
        """stdout of a command whose input ends 1.5 s after the packets, of which the last was captured so long ago."""
        _, packets = self.hang()
        with subprocess.Popen([command.RPCRDMA, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
            time.sleep(1)  # it has begun to read: the packets are taken as they pass
            shift = time.time_ns() - late_ns - packets[-1].time_ns
            shifted = [one._replace(time_ns=one.time_ns + shift) for one in packets]
            with open(self.pcapng('piped.pcapng', shifted), 'rb') as file:
                data = file.read()
            run.stdin.write(data)
            run.stdin.flush()
            time.sleep(1.5)
            return run.communicate()[0]

    def test_a_pipe(self):
        """One that packets came by as they passed ends with the capture; one that is fed by a file may end at any time."""
        out = os.path.join(self.folder, 'out.pcapng')
        for late_ns in (0, 60 * SECOND):
            self.piped(['capture', '-q', '-r', '-', '-w', out], late_ns)
            for one in (json.loads(self.piped(['report', '--json', '-'], late_ns)), self.report(out)):
                if late_ns:
                    self.assertEqual((one['verdict'], one.get('silent_ns'), one['under_way']), ('healthy', None, 3))
                    continue
                self.assertEqual((one['verdict'], one['under_way']), ('causes', 0))
                self.assertGreater(one['silent_ns'], SECOND // 2)
                self.assertLess(one['silent_ns'], 60 * SECOND)

    def test_not_to_its_end(self):
        """-c: what follows is not read, nor until when."""
        _, packets = self.hang()
        path = self.pcapng('counted.pcapng', packets, packets[-1].time_ns + 60 * SECOND)
        one = json.loads(self.run_command('report', '--json', '-c', str(len(packets) - 1), path))
        self.assertEqual((one.get('silent_ns'), one['causes']), (None, []))


class Until(ConversationTest):
    def test_other_packets(self):
        """What an end does not answer at the end of a capture was not answered until its last packet, whatever that is of."""
        for passes in (True, False):
            def talk(c, _, passes=passes):
                c.null()
                c.call(rule_talk.NULL)
                c.packets.pop()
                for _ in range(4):
                    c.clock.now += 2 * SECOND
                    c.packets.append(c.packets[-1]._replace(time_ns=c.clock.tick()))
                if passes:
                    pass_by(c, 20 * SECOND)
            said = self.run_command('check', '--json', self.captured(talk), status=1)
            self.assertEqual('connection-silent' in said, passes)


if __name__ == '__main__':
    unittest.main()
