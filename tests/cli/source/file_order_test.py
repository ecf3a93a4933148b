# SPDX-License-Identifier: BSD-2-Clause
"""Files whose packets are not in the order of their times, as several queues of an adapter may write them."""
import json
import os
import random

from command import CommandTest, capture, main
import pcap

MICRO = 1000


class FileOrder(CommandTest):
    def mixed(self, name, micro):
        """Each packet up to so far behind its place. The times are right."""
        rng = random.Random(micro)
        packets, _ = pcap.read(capture(name))
        path = os.path.join(self.folder, 'mixed.pcap')
        pcap.write(path, sorted(packets, key=lambda one: one.time_ns + rng.randrange(micro * MICRO)))
        return path

    def exchanged(self, name, seed):
        """Some packets have changed places with one that is one to three behind."""
        rng = random.Random(seed)
        packets, _ = pcap.read(capture(name))
        for i in range(len(packets) - 4):
            if rng.random() < 0.05:
                j = i + rng.randrange(1, 4)
                packets[i], packets[j] = packets[j], packets[i]
        path = os.path.join(self.folder, 'exchanged.pcap')
        pcap.write(path, packets)
        return path

    def test_few_packets_apart(self):
        """By its time a Write is behind its Call; and the packet of a gap is one of the next: nothing is broken or lost."""
        for name, seed in (('roce-nfs3-mini', 2), ('roce-nfs41-mini', 2), ('roce-nfs41-callback', 4), ('roce-nfs41-callback', 7)):
            with self.subTest(name=name, seed=seed):
                output = self.run_command('check', '--json', '--quiet', self.exchanged(name, seed))
                rules = {finding['rule'] for line in output.splitlines() for finding in json.loads(line).get('findings', [])}
                self.assertEqual(rules & {'rdma-before-call', 'packets-lost'}, set())

    def shuffled(self, name, seed):
        """Each packet up to five places from its own."""
        rng = random.Random(seed)
        packets, _ = pcap.read(capture(name))
        place = [i + rng.uniform(0, 5) for i in range(len(packets))]
        path = os.path.join(self.folder, 'shuffled.pcap')
        pcap.write(path, [packets[i] for i in sorted(range(len(packets)), key=place.__getitem__)])
        return path

    def decoded(self, path):
        """Messages without their numbers of packets, and rules, of decode, in an order of their own."""
        lines = [json.loads(line) for line in self.run_command('decode', '--json', '--quiet', path).splitlines()]
        keys = ('src', 'dst', 'xid', 'type', 'direction', 'header_length', 'payload_length')
        return (sorted(str([line.get(key) for key in keys]) for line in lines if 'xid' in line),
                sorted(finding['rule'] for line in lines for finding in line.get('findings', [])))

    def test_five_places_off(self):
        """What is missing is one of the next packets: every message is there, and nothing was lost. An error before its Call
        is an answer."""
        for name, seed in (('roce-long-call', 1), ('roce-nfs41-mini', 1), ('roce-nfs41-mini', 3), ('iwarp-nfs3-mini', 3),
                           ('iwarp-nfs41-mini', 1), ('iwarp-nfs41-mini', 2), ('iwarp-nfs41-mini', 3)):
            with self.subTest(name=name, seed=seed):
                self.assertEqual(self.decoded(self.shuffled(name, seed)), self.decoded(capture(name)))

    def test_in_order_of_time(self):
        """That is no order in which they passed: nothing was reordered, and nothing is said."""
        for name in ('roce-nfs3-mini', 'roce-nfs41-callback', 'roce-nfs41-mini', 'iwarp-nfs3-mini'):
            with self.subTest(name=name):
                path = self.mixed(name, 20)
                report = json.loads(self.run_command('report', '--json', path))
                self.assertNotIn('reordered', {one['cause'] for one in report['causes']})
                self.assertEqual(report['problems'], [])
                self.assertEqual({one[to]['reordered'] for one in report['connections'] for to in ('to_client', 'to_server') if to in one}, {0})

    def test_far_out_of_order(self):
        """What is said may come from that: it is said that the file can be put in order."""
        path = self.mixed('roce-nfs3-mini', 1000)
        report = json.loads(self.run_command('report', '--json', path, errors=1))
        problem, = report['problems']
        self.assertRegex(problem, r': [0-9]+ packets stand behind a later one, by up to 0\.[0-9]{3} ms: .*reordercap')
        self.assertNotIn('reordered', {one['cause'] for one in report['causes']})
        self.run_command('connections', path, errors=1)
        self.assertIn('reordercap', self.stderr)


if __name__ == '__main__':
    main()
