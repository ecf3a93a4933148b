# SPDX-License-Identifier: GPL-2.0-or-later
"""Each field that is registered, and so offered for filters and columns, is in some packet."""
import os
import re
import subprocess
import sys
import unittest

import host
import generated
import pcap
import rewrap
import taps
import variants

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../captures/generate'))
# pylint: disable=wrong-import-position
import rule_talk
import rules

NAME = re.compile(r'<field name="(rpcrdma\.[a-z0-9_.-]*)"')
RULES = 'type-obsolete', 'read-position-order'  # messages of a kind that is in no recording
CARRIERS = 'ipv6', 'erf'  # other addresses


def registered():
    """By name; without the rules, each of which has an item of its own: see findings_test.py."""
    out, _ = host.run('-G', 'fields')
    names = {line.split('\t')[2] for line in out.splitlines() if line.startswith('F\t')}
    return {name for name in names if name.startswith('rpcrdma.') and not name.startswith('rpcrdma.expert.')}


def explained_otherwise():
    """Durations are in seconds here: what explains one names no other unit."""
    out, _ = host.run('-G', 'fields')
    rows = [line.split('\t') for line in out.splitlines() if line.startswith('F\t')]
    return [row for row in rows if row[2].startswith('rpcrdma.') and row[3] == 'FT_RELATIVE_TIME' and 'nanosecond' in row[7]]


def overtaken(capture):
    """Packets of a Write come in another order than they were sent in."""
    out = list(capture.packets)
    for i in range(len(out) - 1):
        one, next_one = (capture.roce.get(out[n].frame) for n in (i, i + 1))
        if one and next_one and one.opcode == next_one.opcode == variants.roce.WRITE_MIDDLE:
            out[i:i + 2] = (out[i + 1]._replace(time_ns=out[i].time_ns), out[i]._replace(time_ns=out[i + 1].time_ns))
            return out
    raise ValueError('no Write of four packets')


def inputs():
    """(what, packets, link type)"""
    for name in host.recordings():
        yield (name, *pcap.read(host.capture(name)))
    for name, packets in generated.captures():
        yield name, packets, pcap.LINKTYPE_ETHERNET
    capture = host.recording('roce-nfs3-mini')
    for alike in (False, True):
        yield 'again', variants.sent_again(capture, 5, alike=alike)[0], pcap.LINKTYPE_ETHERNET
    yield 'overtaken', overtaken(host.recording('roce-long-call')), pcap.LINKTYPE_ETHERNET
    for carrier in CARRIERS:
        yield (carrier, *rewrap.rewrap(capture.packets, carrier))


class RegisteredTest(host.PluginTest):
    def shown(self):
        found = set()
        path = self.path()
        for _, packets, link in inputs():
            pcap.write(path, packets, link)
            found |= self.names(path)
        packets, link = pcap.read(host.capture('roce-nfs3-mini'))
        taps.write(path, taps.two(packets, '192.168.77.11', 30000, 20000), link)
        found |= self.names(path)
        for rule, function, _, _ in rule_talk.CASES:
            if rule in RULES:
                rules.write(path, function, True)
                found |= self.names(path)
        rules.write(path, lambda c, _: c.silent_adapter(), True)
        found |= self.names(path)
        pcap.write(path, variants.thinned(host.recording('iwarp-nfs3-mini'), 7))
        return found | self.names(path, ())  # what is in one pass alone

    def names(self, path, passes=('-2',)):
        out, _ = host.run('-r', path, *passes, '-T', 'pdml', '-Y', 'rpcrdma')
        return set(NAME.findall(out))

    def test_not_here(self):
        """What the command has of an RPC or a finding, and Wireshark has not, is told."""
        listed = subprocess.run([host.RPCRDMA, 'fields'], capture_output=True, check=True).stdout.decode()
        names = {line.split()[0].removesuffix('_ns') for line in listed.splitlines()
                 if line.startswith(('rpcrdma.rpcs.', 'rpcrdma.finding.'))}
        self.assertGreater(len(names), 60)
        where = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../docs/wireshark.md')
        with open(where, encoding='utf-8') as file:
            section = file.read().split('### Names of fields')[1].split('\n### ')[0].split('\n## ')[0]
        missing = {name for name in names - registered() if f'.{name.split(".")[-1]}`' not in section and
                   f'.{name.split(".")[2]}`' not in section}
        self.assertEqual(missing, set())

    def test_durations(self):
        self.assertEqual(explained_otherwise(), [])

    def test_each(self):
        want = registered()
        self.assertGreater(len(want), 150)
        self.assertEqual(want - self.shown(), set())


if __name__ == '__main__':
    unittest.main()
