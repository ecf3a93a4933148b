# SPDX-License-Identifier: BSD-2-Clause
"""decode --cm: set-up and end of connections among the messages, against a reader of its own."""
import json

import command

# pylint: disable=wrong-import-order
import cm
import roce

NAMES = {cm.REQ: 'REQ', cm.REP: 'REP', cm.RTU: 'RTU', cm.REJ: 'REJ', cm.DREQ: 'DREQ', cm.DREP: 'DREP'}


class Cm(command.CommandTest):
    def datagrams(self, name):
        for packet in self.packets(name):
            found = roce.parse(packet.data, packet.length)
            message = cm.parse(found.payload) if found and found.dst_qpn == 1 else None
            if message and message.kind in NAMES:
                yield packet, message

    def events(self, *arguments):
        lines = [json.loads(line) for line in
                 self.run_command('decode', '--cm', '--json', *arguments).splitlines()]
        self.assertEqual([one['frame'] for one in lines], sorted(one['frame'] for one in lines))
        return [one for one in lines if 'event' in one]

    def test_datagrams(self):
        for name in ('roce-nfs3-mini', 'roce-long-call', 'roce-nfs41-callback'):
            events = self.events(command.capture(name))
            want = list(self.datagrams(name))
            self.assertTrue(want)
            self.assertEqual(len(events), len(want))
            opened = 0
            for event, (packet, message) in zip(events, want):
                opened += message.kind == cm.REQ
                self.assertEqual((event['frame'], event['time_ns'], event['event']),
                                 (packet.frame, packet.time_ns, NAMES[message.kind]))
                self.assertEqual(event.get('src_qpn', 0), message.qpn)
                self.assertEqual(event.get('service_port', 0), message.port)
                self.assertEqual('private_data' in event, message.kind in (cm.REQ, cm.REP))
            self.assertEqual({event['connection'] for event in events}, set(range(1, opened + 1)))

    def test_rejected(self):
        """A REJ, with its reason by name."""
        packets = []
        for packet in self.packets():
            found = roce.parse(packet.data, packet.length)
            message = cm.parse(found.payload) if found and found.dst_qpn == 1 else None
            if message and message.kind == cm.REP:
                at = packet.data.find(found.payload[:24])
                data = bytearray(packet.data)
                data[at + 16:at + 18] = cm.REJ.to_bytes(2, 'big')
                data[at + 24 + 10:at + 24 + 12] = (8).to_bytes(2, 'big')  # invalid service ID
                packet = packet._replace(data=bytes(data))
            if found and found.dst_qpn == 1:
                packets.append(packet)
        path = self.file(b'')
        command.pcap.write(path, packets)
        events = [one for one in self.events(path) if one['event'] == 'REJ']
        self.assertTrue(events)
        for one in events:
            self.assertEqual((one['reject_reason'], one['reason']), (8, 'invalid service ID'))
        self.assertIn(' REJ: invalid service ID\n', self.run_command('decode', '--cm', path))

    def test_iwarp(self):
        events = self.events(command.capture('iwarp-nfs3-mini'))
        self.assertEqual([one['event'] for one in events if one['connection'] == 1],
                         ['MPA Request', 'MPA Reply', 'FIN', 'FIN'])

    def test_where(self):
        events = self.events(command.capture(), '--where', 'connection == 2')
        self.assertTrue(events)
        self.assertEqual({one['connection'] for one in events}, {2})

    def test_usage(self):
        self.run_command('decode', '--cm', '-V', command.capture(), status=2)
        self.run_command('decode', '--cm', '--summary', command.capture(), status=2)


command.main()
