# SPDX-License-Identifier: BSD-2-Clause
"""rpcrdma sanitize: what of version 2's properties is passed, and of what it cannot take apart; its status."""
import json
import os
import signal
import struct
import subprocess
import sys

import command
import cm
import ngfile
import rewrap
import talk


def words(*values):
    return struct.pack(f'>{len(values)}I', *values)


def told(*values):
    """RDMA2_CONNPROP_FINAL of ietf-07: IDs, values and padding."""
    return words(2, 2, 32, 7, len(values)) + b''.join(words(number, len(value)) + value + odd
                                                      for number, value, odd in values)


CALL = words(1, 2, 32, 10, 0, 0, 0, 0) + words(1, 0, 2, 100003, 4, 0, 0, 0, 0, 0)
REPLY = words(1, 2, 32, 13, 0) + words(1, 1, 0, 0, 0, 0)


class Properties(command.CommandTest):
    def capture(self, *messages):
        packets = []
        one = talk.Talk(packets, talk.End('10.0.0.1', 17, 100), talk.End('10.0.0.2', 18, 500), talk.Clock())
        one.connect(cm.IP_SERVICE | 20049)
        for sender, message in ((one.client, CALL), (one.server, REPLY)) + tuple((one.client, message) for message in messages):
            one.send(sender, message)
        path = os.path.join(self.folder, 'in.pcap')
        command.pcap.write(path, packets)
        return path

    def test_interrupted(self):
        """A copy of a part of the file is not what was asked for."""
        path = os.path.join(self.folder, 'long.pcap')
        command.pcap.write(path, self.packets() * 20)
        for argument in path, '-':
            with open(path, 'rb') as data:
                with subprocess.Popen([command.RPCRDMA, 'sanitize', argument, '-o', '-'], stdin=data, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE) as run:
                    run.stdout.read(1)
                    run.send_signal(signal.SIGINT)
                    run.stdout.read()
                    self.assertIn(b'interrupted: the rest of the capture is not in the copy', run.stderr.read())
                self.assertEqual(run.returncode, 2, argument)

    def test_values(self):
        """Numbers stay that the dialect defines: of others four bytes may be a secret, too."""
        path, out = self.capture(told(
            (1, words(8192), b''), (2, b'', b''), (4, words(16) + b'Secr', b''), (5, words(2), b''),
            (6, words(3) + b'Secr', b''), (6, words(3) + b'Sec', b'r'), (6, b'Secr', b''), (77, b'Secr', b''),
            (77, b'Sec', b'r'), (77, b'S', b'ecr'), (4, b'Sec', b'r'), (77, b'', b''))), os.path.join(self.folder, 'out.pcapng')
        self.run_command('sanitize', '-q', path, '-o', out)
        content = b''.join(packet.data for packet in ngfile.read(out).packets)
        self.assertFalse(b'Sec' in content or b'ecr' in content)
        self.assertTrue(told(
            (1, words(8192), b''), (2, b'', b''), (4, words(16, 0), b''), (5, words(2), b''),
            (6, words(3, 0), b''), (6, b'\xff' * 4 + bytes(3), b'\1'), (6, b'\xff' * 4, b''), (77, bytes(4), b''),
            (77, bytes(3), b'\1'), (77, b'\0', b'\1\1\1'), (4, bytes(3), b'\1'), (77, b'', b'')) in content)
        found = [[json.loads(line)['findings'] for line in self.run_command('check', '--json', name, status=1).splitlines()]
                 for name in (path, out)]
        self.assertEqual({one['rule'] for one in found[0][0]}, {'noncanonical', 'property-long', 'property-bad'})
        self.assertEqual(found[0], found[1])

    def test_one_column(self):
        """decode -V: the place of what is shown in hexadecimal is where the others' are."""
        lines = self.run_command('decode', '-V', self.capture(told((1, words(8192), b''), (77, b'Sec', b'r')))).splitlines()
        self.assertIn('Data: 536563', ''.join(lines))
        self.assertEqual({line.index('[') for line in lines if 'draft-' in line}, {52})


class Dialects(command.CommandTest):
    def told(self, path):
        """What the dialect makes of the messages, and the RPCs that they are; of those that are continued in others arguments and results
        are zeros."""
        rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', path).splitlines()]
        messages = [json.loads(line) for line in self.run_command('decode', '--json', path).splitlines()]
        return [[one.get(key) for key in ('frame', 'dialect', 'type', 'header_length', 'payload_length', 'direction')] +
                [finding['rule'] for finding in one.get('findings', ())] for one in messages] + [
                    [rpc.get(key) for key in ('call_frame', 'reply_frame', 'xid', 'program', 'procedure', 'name', 'call_length',
                                              'reply_length', 'complete')] +
                    [finding['rule'] for finding in rpc.get('findings', ())] for rpc in rpcs]

    def test_each_is_decoded_as_before(self):
        subprocess.run([sys.executable, os.path.join(command.CAPTURES, 'generate', 'v2.py'), self.folder], check=True,
                       stdout=subprocess.DEVNULL)
        out = os.path.join(self.folder, 'out.pcapng')
        for name in sorted(name for name in os.listdir(self.folder) if name.startswith('v2-')):
            path = os.path.join(self.folder, name, 'capture.pcap')
            self.run_command('sanitize', '-q', path, '-o', out)
            self.assertEqual(self.told(out), self.told(path), name)

    def test_optional_data(self):
        """Of cel-01's characteristics stays what its draft defines; of what is not known, nothing but its length."""
        def optional(kind, data, direction=(0,)):
            return words(9, 2, 32, 5, *direction, kind, len(data)) + data + bytes(-len(data) % 4)

        def start(*values, unchanged=5):
            return words(len(values)) + b''.join(words(number, len(value)) + value + bytes(-len(value) % 4)
                                                 for number, value in values) + words(2, unchanged, unchanged)

        call = words(8, 2, 32, 0, 0, 0, 0, 0) + words(8, 0, 2, 100003, 4, 0, 0, 0, 0, 0)
        packets, out = [], os.path.join(self.folder, 'out.pcapng')
        one = talk.Talk(packets, talk.End('10.0.0.1', 17, 100), talk.End('10.0.0.2', 18, 500), talk.Clock())
        one.connect(cm.IP_SERVICE | 20049)
        for message in (optional(1, start((1, words(8192)), (1000, b'Secret!!'), (3, words(2)), unchanged=0xffffffff)), call,
                        optional(99, b'Secret!!'), optional(1, start((1, words(8192))) + b'Secret!!'),
                        optional(3, words(1, 0xffffffff, 1, 2, 1, 4))):
            one.send(one.client, message)
        path = os.path.join(self.folder, 'in.pcap')
        command.pcap.write(path, packets)
        self.run_command('sanitize', '-q', path, '-o', out)
        content = b''.join(packet.data for packet in ngfile.read(out).packets)
        self.assertNotIn(b'Secr', content)
        self.assertNotIn(b'et!!', content)
        self.assertIn(words(1000, 8, 0, 0, 3, 4, 2, 2, 7, 0), content)
        self.assertIn(words(99, 8) + b'\xff' * 8, content)
        self.assertIn(words(3, 24, 1, 0xff, 1, 2, 1, 4), content)


class Beginning(command.CommandTest):
    def first_rpc(self, path):
        return json.loads(self.run_command('rpcs', '--json', path).splitlines()[0])['time_ns']

    def beginning(self, path):
        return json.loads(self.run_command('credits', '--json', path))['time_ns']

    def test_how_far_it_moved(self):
        out = os.path.join(self.folder, 'out.pcapng')
        for shift in (0, -1000000):
            self.run_command('sanitize', command.capture(), '--shift-time', str(shift), '-o', out, errors=4)
            said = self.stderr
            moved = self.beginning(out) - shift * 1000000000 - self.beginning(command.capture())
            self.assertGreater(moved, 7000000000)
            self.assertIn('the first packets were left out: times since the beginning, and the capture\'s length, are '
                          f'{moved // 1000000000}.{moved % 1000000000:09} s less\n', said)
            self.assertEqual(self.first_rpc(out) - shift * 1000000000, self.first_rpc(command.capture()))
        again = os.path.join(self.folder, 'again.pcapng')
        self.run_command('sanitize', out, '-o', again, errors=1)
        self.assertIn(' packets written', self.stderr)


class Carriers(command.CommandTest):
    def test_nothing_is_written(self):
        """Who shares the result must hear that there is none; some of something else is none, too."""
        out = os.path.join(self.folder, 'out.pcapng')
        for name in ('vxlan', 'erspan2', 'ip-options', 'arista-64', 'ppi', 'vn-tag'):
            path = os.path.join(self.folder, f'{name}.pcap')
            command.pcap.write(path, *rewrap.rewrap(self.packets('roce-nfs41-mini'), name))
            self.run_command('sanitize', '-q', path, '-o', out, status=2, errors=1)
            self.assertEqual(self.stderr, f'rpcrdma: {path}: nothing is written: it is RPC-over-RDMA in packets that '
                                          'sanitize cannot take apart\n')
            self.assertEqual(ngfile.read(out).packets, [])
        path = os.path.join(self.folder, 'mixed.pcap')
        convert = rewrap.CARRIERS['vxlan'][1]
        packets, others = self.packets('roce-nfs41-mini'), []
        other = talk.Talk(others, talk.End('10.0.0.1', 17, 100), talk.End('10.0.0.2', 18, 500), talk.Clock())
        other.connect(cm.IP_SERVICE | 3260)
        command.pcap.write(path, others + [packet._replace(data=convert(packet.data)) for packet in packets])
        self.run_command('sanitize', '-q', path, '-o', out, status=2, errors=1)
        self.assertIn(f'{path}: no RPC-over-RDMA is written: ', self.stderr)
        self.assertGreater(len(ngfile.read(out).packets), 0)


command.main()
