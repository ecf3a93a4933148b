# SPDX-License-Identifier: GPL-2.0-or-later
"""Every finding of `rpcrdma check` is an expert item on the frame that it is about."""
import collections
import json
import os
import shutil
import subprocess
import sys
import unittest

import host
import generated
import pcap
import variants

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../captures/generate'))
# pylint: disable=wrong-import-position
import rule_talk
import rules  # noqa: F401 pylint: disable=unused-import

# The command's --check-icrc; of what Wireshark's own dissectors take apart.
NOT_HERE = {'icrc', 'mpa-crc', 'tcp-checksum', 'tunnel-depth'}
# What other connections speak decides; its Calls end when a later capture has other connections, if there is one.
ALONE = {'dialect-undecided', 'reply-undelivered'}
TOGETHER = 60  # captures in one: a start of tshark takes longer than it reads them
RECORDINGS = ('roce-long-call', 'roce-nfs41-callback', 'iwarp-nfs41-mini')


def damaged(name):
    """Versions of a recording with packets missing or cut."""
    capture = host.recording(name)
    yield 'whole', capture.packets
    yield 'thinned', variants.thinned(capture, 20)
    yield 'sliced', variants.sliced(capture)
    yield 'begun late', [packet for packet in capture.packets if packet.frame > len(capture.packets) // 2]


def told(path):
    """What the command says: (frame, rule), how often."""
    run = subprocess.run([host.RPCRDMA, 'check', '--notes', '--json', path], capture_output=True, check=False)
    assert run.returncode in (0, 1), run.stderr
    found, elsewhere = collections.Counter(), collections.Counter()
    for line in run.stdout.decode().splitlines():
        one = json.loads(line)
        for finding in one['findings']:
            frame = finding.get('frame') or one.get('frame') or one.get('call_frame') or one.get('reply_frame')
            if frame:
                found[frame, finding['rule']] += 1
            else:
                elsewhere[finding['rule']] += 1
    return found, elsewhere


# From 4.2 on the fields of columns are taken before post-dissectors are called: only the list has it all.
AT_LAST = tuple(map(int, host.VERSION.split('.'))) >= (4, 2)


def listed(path):
    out, _ = host.run('-r', path, '-2', '-o', 'gui.column.format:"No.","%m","Info","%i"', '-T', 'tabs')
    return [line.strip() for line in out.splitlines()]


def shown(path, rules_there=('truncated',)):
    """What the plugin says; that the rules named have an expert field each, where they are found and nowhere else."""
    fields = [f'rpcrdma.expert.{rule}' for rule in rules_there]
    rows, err = host.run('-r', path, '-2', '-T', 'fields', '-E', 'separator=|', '-E', 'aggregator=,', '-e',
                         'frame.number', '-e', 'rpcrdma.finding.rule', *(word for field in fields for word in ('-e', field)),
                         '-e', '_ws.expert.message', '-e', '_ws.col.Info', '-Y', 'rpcrdma.finding')
    assert not err, err
    lines = dict(line.split('\t', 1) for line in listed(path)) if AT_LAST else {}
    found, info = collections.Counter(), {}
    for row in rows.splitlines():
        frame, names, *experts, message, column = row.split('|', 3 + len(fields))
        for rule, expert in zip(rules_there, experts):
            assert bool(expert) == (rule in names.split(',')), (frame, rule)
        for name in names.split(','):
            found[int(frame), name] += 1
            info.setdefault(int(frame), lines.get(frame, column))
        assert message
    return found, info


def one_after_the_other(cases):
    """The captures of (rule, function, breaks) in one, each with hosts of its own; the frames of each."""
    packets, frames = [], []
    for number, (_, function, breaks) in enumerate(cases):
        own = rules.packets_of(function, breaks, hosts=(f'198.18.{number}.11', f'198.18.{number}.1'))
        shift = packets[-1].time_ns + 10**9 - own[0].time_ns if packets else 0
        frames.append(range(len(packets) + 1, len(packets) + len(own) + 1))
        packets += [packet._replace(time_ns=packet.time_ns + shift) for packet in own]
    return packets, frames


class FindingsTest(host.PluginTest):
    def compare(self, path, rules_there=('truncated',)):
        """Finds what the command finds; returns it: (frame, rule) and how often, and the rules told without a frame."""
        (want, elsewhere), (have, info) = told(path), shown(path, rules_there)
        for rule, n in elsewhere.items():
            self.assertEqual(sum(count for (_, name), count in (have - want).items() if name == rule), n, rule)
            have = collections.Counter({key: n for key, n in have.items() if key[1] != rule or key in want})
        # the plugin puts messages together and so finds what of their data was cut off; check does not look
        self.assertEqual(collections.Counter({key: n for key, n in (have - want).items() if key[1] != 'rpc-cut'}), {})
        self.assertEqual(want - have, {})
        for (frame, rule) in want:
            if rule not in ('truncated', 'rpc-cut'):
                self.assertIn(f'[{rule}]', info[frame])
                self.assertNotIn(f'[{rule}] [{rule}]', info[frame])
        return want, set(elsewhere)

    def test_recordings(self):
        seen = set()
        for name in RECORDINGS:
            for what, packets in damaged(name):
                with self.subTest(name, what=what):
                    path = self.path('file.pcap')
                    pcap.write(path, packets)
                    want, elsewhere = self.compare(path)
                    seen |= {rule for _, rule in want} | elsewhere
        self.assertLessEqual({'rpc-error', 'rpc-lost', 'packets-lost', 'rpc-no-call', 'truncated', 'tcp-lost'}, seen)

    def test_every_recording(self):
        for name in host.recordings():
            if name not in RECORDINGS:
                with self.subTest(name):
                    self.compare(host.capture(name))

    def test_sliced_recordings(self):
        """Those that are kept with their packets cut."""
        names = [name for name in sorted(os.listdir(os.path.join(host.CAPTURES, 'sliced'))) if '.pcap' in name]
        self.assertGreater(len(names), 0)
        for name in names:
            with self.subTest(name):
                self.compare(shutil.copy(os.path.join(host.CAPTURES, 'sliced', name), self.path(name)))

    def test_clocks_apart(self):
        """Two hosts captured a direction each, and their clocks are far apart: what depends on which was first is left out."""
        for name in ('roce-long-call', 'iwarp-nfs41-mini'):
            with self.subTest(name):
                packets, link = pcap.read(host.capture(name))
                client = min(packet.data[26:30] for packet in packets if packet.data[12:14] == b'\x08\0')
                seen = [packet._replace(time_ns=packet.time_ns + 10**8 * (packet.data[26:30] == client)) for packet in packets]
                path = self.path(name)
                pcap.write(path, sorted(seen, key=lambda packet: packet.time_ns), link)
                err = subprocess.run([host.RPCRDMA, 'check', path], capture_output=True, check=False).stderr.decode()
                self.assertRegex(err, r'[1-9]\d* findings that depend on which direction was first are left out')
                self.compare(path)

    def test_version_2(self):
        for name, packets in generated.captures():
            with self.subTest(name):
                path = self.path(f'{name}.pcap')
                pcap.write(path, packets)
                self.compare(path)

    def test_each_rule(self):
        cases = [(rule, function, breaks) for rule, function, _, _ in rule_talk.CASES if rule not in NOT_HERE | ALONE
                 for breaks in (True, False)]
        alone = [[(rule, function, True)] for rule, function, _, _ in rule_talk.CASES if rule in ALONE]
        for at, some in enumerate([cases[at:at + TOGETHER] for at in range(0, len(cases), TOGETHER)] + alone):
            path = self.path(f'rules-{at}.pcap')
            packets, frames = one_after_the_other(some)
            pcap.write(path, packets)
            want, elsewhere = self.compare(path, sorted({rule for rule, _, _ in some}))
            for (rule, function, breaks), own in zip(some, frames):
                with self.subTest(rule, how=function.__name__):
                    # what came too late for its place is told with the next frame of any connection
                    found = {name for frame, name in want if own.start <= frame <= own.stop} | elsewhere
                    self.assertTrue(rule in found or not breaks)

    def test_sections(self):
        """Each finding cites the text of its version, as the command's does."""
        cases = [(rule, function, True) for rule, function, _, _ in rule_talk.CASES
                 if function.__module__ == 'rules_versions' or function.__name__.removesuffix('_2') == 'write_pad']
        path = self.path('sections.pcap')
        pcap.write(path, one_after_the_other(cases)[0])
        run = subprocess.run([host.RPCRDMA, 'check', '--notes', '--json', path], capture_output=True, check=False)
        want = {one['section'] for line in run.stdout.decode().splitlines()
                for one in json.loads(line)['findings'] if 'section' in one}
        rows, err = host.run('-r', path, '-2', '-T', 'fields', '-E', 'aggregator=;', '-e', 'rpcrdma.finding.section',
                             '-Y', 'rpcrdma.finding.section')
        self.assertEqual(err, '')
        self.assertEqual({one for row in rows.splitlines() for one in row.split(';')}, want)
        self.assertLess({'RFC 8166 section 3.4.6.2', 'draft-ietf-nfsv4-rpcrdma-version-two-07 section 4.5.2.4'}, want)

    def test_summaries(self):
        """What the dialogs call them needs no values."""
        out, _ = host.run('-G', 'fields')
        names = [line.split('\t')[1] for line in out.splitlines() if '\trpcrdma.expert.' in line]
        self.assertGreater(len(names), 60)
        for name in names:
            self.assertNotRegex(name, r'[{}]|^\W|\s{2}')

    def test_no_double_brackets(self):
        path = self.path('thin.pcap')
        pcap.write(path, variants.thinned(host.recording('roce-long-call'), 20))
        out, _ = host.run('-r', path, '-2', '-V', '-O', 'rpcrdma')
        self.assertIn('packets-lost', out)
        self.assertNotIn('[[', out)


if __name__ == '__main__':
    unittest.main()
