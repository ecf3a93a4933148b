# SPDX-License-Identifier: BSD-2-Clause
"""Text, tree and JSON tell the same."""
import json
import re
from datetime import datetime, timezone

import command
import roce
import v2

NAMES = ('roce-nfs3-mini', 'roce-nfs41-mini', 'roce-long-call', 'roce-nfs41-callback')


class Views(command.CommandTest):
    def objects(self, name):
        return [json.loads(line) for line in
                self.run_command('decode', '--json', command.capture(name)).splitlines()]

    def test_line_per_message(self):
        for name in NAMES:
            lines = self.run_command('decode', command.capture(name)).splitlines()
            objects = self.objects(name)
            first = self.packets(name)[0].time_ns
            self.assertEqual(len(lines), len(objects))
            for line, one in zip(lines, objects):
                words = line.split()
                self.assertEqual(words[0], str(one['frame']))
                self.assertEqual(words[1], f"{(one['time_ns'] - first) / 1e9:.6f}")
                self.assertEqual(words[2:5], [one['src'], '->', one['dst']])
                self.assertEqual(words[5], f"#{one['connection']}")
                self.assertIn(f"XID {one['xid']} {one['type']}", line)
                self.assertIn(f"credits {one['credits']}", line)
                if one['payload_length']:
                    self.assertIn(f"inline {one['payload_length']}", line)
                self.assertIn(one['direction'].capitalize() + ' ', line)
                if 'name' in one.get('rpc', {}):
                    self.assertIn(f"V{one['rpc']['version']} {one['rpc']['name']} ", line)
                read = sum(segment['length'] for segment in one.get('read', []))
                if read:
                    self.assertIn(f', read {read} ', line)
                for chunk in one.get('write', []):
                    self.assertIn(str(sum(segment['length'] for segment in chunk)),
                                  line.split(', write ')[1].split(',')[0])
                if one.get('reply'):
                    length = sum(segment['length'] for segment in one['reply'])
                    self.assertIn(f', reply chunk {length}', line)

    def test_cut_chunks(self):
        """Of a chunk that was not captured whole a line says how many of its segments were, and no length that it does
        not have."""
        path = self.file(b'', 'cut.pcap')
        for name, length in (('roce-nfs3-mini', 110), ('roce-nfs41-mini', 96), ('roce-long-call', 120)):
            packets = self.packets(name)
            command.pcap.write(path, [one._replace(data=one.data[:length], length=len(one.data)) for one in packets])
            whole = self.objects(name)
            lines = self.run_command('decode', path).splitlines()
            self.assertEqual(len(lines), len(whole))
            cut = [(line, one) for line, one in zip(lines, whole) if ' segment' in line.split(' [')[0] and ' of ' in line]
            self.assertGreater(len(cut), 3)
            for line, one in cut:
                chunk = one['reply'] if 'reply chunk' in line else one['write'][-1]
                there, declared = re.search(r'\((\d+) of (\d+) segments?\)', line).groups()
                self.assertEqual(int(declared), len(chunk))
                self.assertLess(int(there), len(chunk))
                least = re.search(r'at least (\d+) \(', line)
                self.assertEqual(int(least[1]) if least else 0, sum(one['length'] for one in chunk[:int(there)]))
            for line, one in zip(lines, whole):
                said = re.search(r', reply chunk (\d+)', line)
                self.assertTrue(not said or int(said[1]) == sum(segment['length'] for segment in one['reply']), line)

    def test_version_2_properties(self):
        """connections -V has what each end announced in messages, and the defaults of what it did not."""
        captured, _ = v2.generate('ietf-07')
        path = self.file(b'', 'v2.pcap')
        command.pcap.write(path, captured)
        first, second = self.run_command('connections', '-V', path).split('\n\n')[:2]
        self.assertIn('    client 192.0.2.11 QP 33\n        sends up to 8192 bytes, receives up to 8192, up to 16 segments of '
                      '1048576 bytes, reverse direction continued, ', first)
        self.assertIn('    server 192.0.2.1 QP 65\n        sends up to 4096 bytes, receives up to 8192, up to 16 segments of '
                      '1048576 bytes, ', first)
        self.assertNotIn('segments', second)  # of version 1

    def test_tree(self):
        for name in NAMES:
            trees = self.run_command('decode', '-V', command.capture(name)).split('\n\n')[:-1]
            objects = self.objects(name)
            self.assertEqual(len(trees), len(objects))
            for tree, one in zip(trees, objects):
                self.assertRegex(tree, rf"\AFrame {one['frame']}[ ,]")
                self.assertRegex(tree, rf"\n +XID: {one['xid']} +\[0\+4\] +RFC 8166 section")
                self.assertRegex(tree, rf"\n +Type: \d \({one['type']}\) +\[12\+4\]")
                handles = re.findall(r'Handle: (\S+)', tree)
                said = [segment['handle'] for segment in
                        one.get('read', []) + sum(one.get('write', []), []) + one.get('reply', [])]
                self.assertEqual(handles, said)

    def test_tree_places(self):
        """[off+len] is where the value stands in the message."""
        text = self.run_command('decode', '-V', command.capture())
        places = re.findall(r'(?:Handle|XID): 0x(\w{8}) +\[(\d+)\+4\]', text)
        self.assertGreater(len(places), 100)
        packets = {one.frame: one.data for one in self.packets()}
        checked = 0
        for tree in text.split('\n\n')[:-1]:
            frame = int(re.match(r'Frame (\d+)', tree)[1])
            xid = re.search(r'XID: 0x(\w{8})', tree)[1]
            start = packets[frame].find(bytes.fromhex(xid))
            if start < 0:  # a message of several packets
                continue
            checked += 1
            for value, off in re.findall(r'(?:Handle|XID): 0x(\w{8}) +\[(\d+)\+4\]', tree):
                at = start + int(off)
                self.assertEqual(packets[frame][at:at + 4].hex(), value)
        self.assertGreater(checked, 50)

    def test_times(self):
        path = command.capture()
        objects = self.objects('roce-nfs3-mini')

        def column(*arguments):
            return [line.split(maxsplit=3)[1:3] for line in
                    self.run_command('decode', *arguments, path).splitlines()]

        epoch = column('-t', 'e')
        delta = column('-t', 'd')
        clock = column('-t', 'u')
        date = column('-t', 'ud')
        for index, one in enumerate(objects):
            seconds, ns = divmod(one['time_ns'], 10**9)
            utc = datetime.fromtimestamp(seconds, timezone.utc)
            since = one['time_ns'] - objects[index - 1]['time_ns'] if index else 0
            self.assertEqual(epoch[index][0], f'{seconds}.{ns // 1000:06}')
            self.assertEqual(delta[index][0], f'{since / 1e9:.6f}')
            self.assertEqual(clock[index][0], f'{utc:%H:%M:%S}.{ns // 1000:06}')
            self.assertEqual(date[index], [f'{utc:%Y-%m-%d}', f'{utc:%H:%M:%S}.{ns // 1000:06}'])

    def test_operations(self):
        lines = self.run_command('decode', command.capture('roce-nfs41-mini')).splitlines()
        wanted = [line for line in lines if 'COMPOUND Call (SEQUENCE PUTFH WRITE GETATTR) ' in line]
        self.assertTrue(any(', read ' in line for line in wanted))
        self.assertFalse([line for line in lines if '...)' in line])
        lines = self.run_command('decode', command.capture('roce-nfs41-callback')).splitlines()
        self.assertTrue(any('CB_COMPOUND Call (reverse) (CB_SEQUENCE CB_RECALL) ' in line
                            for line in lines))

    def test_connections(self):
        path = command.capture()
        lines = self.run_command('connections', path).splitlines()
        objects = [json.loads(line) for line in
                   self.run_command('connections', '--json', path).splitlines()]
        self.assertEqual(len(objects), 2)
        start = self.packets()[0].time_ns
        for line, one in zip(lines, objects):
            self.assertIn(f"#{one['connection']} {(one['time_ns'] - start) / 1e9:11.6f} {one['carrier']} "
                          f"{one['client']} QP {one['client_qpn']} -> {one['server']} QP {one['server_qpn']}", line)
            self.assertIn(f"thresholds {one['threshold']['call']}/{one['threshold']['reply']}", line)
            self.assertEqual(one['private_data']['client']['send_size'], 4096)
            self.assertIs(one['private_data']['client']['remote_invalidation'], True)
            self.assertIs(one['private_data']['server']['remote_invalidation'], False)

    def test_thresholds_assumed(self):
        """Without the CM exchange the thresholds are RFC 8166's default, and each end says why."""
        path = self.file(b'')
        command.pcap.write(path, [packet for packet in self.packets()
                                  if (found := roce.parse(packet.data, packet.length)) and found.dst_qpn != 1])
        objects = [json.loads(line) for line in
                   self.run_command('connections', '--json', path).splitlines()]
        self.assertEqual(len(objects), 2)
        for one in objects:
            self.assertEqual(one['threshold'], {'call': 1024, 'reply': 1024})
            findings = [finding for finding in one['findings'] if finding['rule'] == 'threshold-assumed']
            self.assertEqual([finding['text'].split(' announced')[0] for finding in findings],
                             ['what the client', 'what the server'])
        self.assertEqual(self.run_command('report', path).count('\n       thresholds assumed: their announcement was not captured\n'), 2)
        self.assertEqual(self.run_command('report', '--html', '-', path).count('<td>1024/1024 (assumed)</td>'), 2)
        self.assertNotIn('assumed', self.run_command('report', command.capture()))


command.main()
