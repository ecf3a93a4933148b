# SPDX-License-Identifier: BSD-2-Clause
"""A packet's comment and direction in a pcapng file, shown by decode -V and --json with the message of that packet."""
import json
import os
import struct
import unittest

from command import CommandTest, block, capture, enhanced, interface, option, section

COMMENT, FLAGS, REPLAYED = 1, 2, b'rpcrdma: this connection was set up before this file'


class PacketNotes(CommandTest):
    def pcapng(self, options, name='notes.pcapng', only=lambda number: True):
        """roce-nfs3-mini; options: by packet."""
        out = section() + interface(options=option(9, b'\x09') + bytes(4))
        for number, packet in enumerate(self.packets(), 1):
            if only(number):
                out += block(6, struct.pack('<IIIII', 0, packet.time_ns >> 32, packet.time_ns & 0xFFFFFFFF, len(packet.data),
                                            packet.length) + packet.data + bytes(-len(packet.data) % 4) +
                             options.get(number, b''))
        return self.file(out, name)

    def test_large_packets(self):
        """Of files that have no room in memory all together: comments are read again with their packets."""
        notes = {number: option(COMMENT, b'packet %d' % number) + bytes(4) for number in range(1, len(self.packets()) + 1)}
        want = self.decode(self.pcapng(notes))
        large = enhanced(bytes(70000), self.packets()[0].time_ns)
        begin = len(section() + interface(options=option(9, b'\x09') + bytes(4)))
        paths = []
        for i in range(100):
            path = self.pcapng(notes, f'{i}.pcapng', lambda number, i=i: number % 100 == i)
            with open(path, 'r+b') as file:
                data = file.read()
                file.seek(begin)
                file.write(large + data[begin:])
            paths.append(path)
        for message in want:
            message.pop('frame')
        got = self.decode(*paths, errors=1)  # packets dealt out: nothing tells that their clock is one
        for message in got:
            message.pop('frame')
        self.assertEqual(got, want)

    def decode(self, *paths, **more):
        return [json.loads(line) for line in self.run_command('decode', '--json', *paths, **more).splitlines()]

    def test_shown(self):
        plain = self.decode(capture('roce-nfs3-mini'))
        frames = [message['frame'] for message in plain]
        notes = {frames[0]: option(COMMENT, b'the mount begins') + option(COMMENT, b'not the first'),
                 frames[1]: option(FLAGS, struct.pack('<I', 1)),
                 frames[2]: option(FLAGS, struct.pack('<I', 0x86)) + option(COMMENT, 'é\x1b[31m'.encode() + b'\xff'),
                 frames[3]: option(FLAGS, struct.pack('<I', 3)),
                 frames[4]: option(FLAGS, b'\x01') + option(COMMENT, b''),
                 frames[5]: option(COMMENT, b'y' * 3000),
                 frames[6]: option(COMMENT, REPLAYED[:-1])}
        want = {frames[0]: (None, 'the mount begins'), frames[1]: ('inbound', None), frames[2]: ('outbound', 'é\x1b[31m\\xff'),
                frames[5]: (None, 'y' * 497 + '...'), frames[6]: (None, REPLAYED[:-1].decode())}
        notes = {frame: value + bytes(4) for frame, value in notes.items()}
        path = self.pcapng(notes)
        got = self.decode(path)
        for message in got:
            self.assertEqual((message.pop('packet_direction', None), message.pop('packet_comment', None)),
                             want.get(message['frame'], (None, None)))
        self.assertEqual(got, plain)
        text = self.run_command('decode', '-V', path)
        self.assertNotIn('\x1b', text)
        self.assertEqual(text.count('\n    Packet direction: inbound\n'), 1)
        self.assertEqual(text.count('\n    Packet direction: outbound\n    Packet comment: é\\x1b[31m\\xff\n'), 1)
        self.assertEqual(text.count('Packet comment: '), 4)

    def test_nothing_but_set_ups(self):
        """Where only what was set up before a file was read, as by -c, times count from the first of that."""
        path = self.pcapng({number: option(COMMENT, REPLAYED) + bytes(4) for number in range(1, len(self.packets()) + 1)})
        times = [packet.time_ns for packet in self.packets()]
        for count in (40, len(times)):
            report = json.loads(self.run_command('report', '--json', '-c', str(count), path))
            self.assertEqual((report['time_ns'], report['length_ns']), (times[0], times[count - 1] - times[0]))
        line = self.run_command('connections', path).splitlines()[0]
        self.assertLess(float(line.split()[1]), 100)

    def test_many(self):
        """Of each of many packets; and of files read together, more than stay open at once."""
        count = len(self.packets())
        notes = {number: option(FLAGS, struct.pack('<I', 1 + number % 2)) + option(COMMENT, b'packet %d' % number) + bytes(4)
                 for number in range(1, count + 1)}
        for files in (1, 40):
            paths = [self.pcapng(notes, f'{files}.{i}.pcapng', lambda number, i=i, files=files: number % files == i)
                     for i in range(files)]
            for arguments in ((), ('--max-memory', '1')):
                messages = self.decode(*paths, *arguments, errors=files > 1)
                self.assertGreater(len(messages), 100)
                for message in messages:
                    self.assertEqual(message['packet_comment'], f'packet {message["frame"]}')
                    self.assertEqual(message['packet_direction'], 'outbound' if message['frame'] % 2 else 'inbound')


if __name__ == '__main__':
    unittest.main()
