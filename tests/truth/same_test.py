#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""same_test.py RPCRDMA CAPTURES: what is said of packets does not depend on what is captured beside them (other hosts, with faults of
their own), on the hosts' addresses, on the carrier, nor on where the capture is cut into two files and in which order these are given."""
import collections
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'tools')]
# pylint: disable=wrong-import-position
import partial
import pcap
import readdress
import rewrap
import roce

SECOND = 10**9
COMMANDS = ('check', 'connections', 'credits', 'rpcs')
RECORDINGS = ('iwarp-nfs3-mini', 'iwarp-nfs41-mini', 'roce-long-call', 'roce-nfs3-mini', 'roce-nfs41-callback', 'roce-nfs41-mini',
              'roce-nfs42-mini')
SERVER, CLIENT = 1, 11  # the last bytes of their addresses
# Keys that count packets, connections and time in the capture, not what is in it.
OF_THE_CAPTURE = re.compile('connection$|^previous$|^next$|frame|time_ns$|since_ns$|^text$')


def delayed(packets, ns):
    """The server is slow: a Reply of one packet comes so much later, and all behind it."""
    for at in range(len(packets) * 3 // 5, len(packets)):
        one, before = (roce.parse(packet.data, packet.length) for packet in (packets[at], packets[at - 1]))
        if one and before and one.opcode in roce.SENDS and one.dst_qpn != roce.QPN_CM and before.opcode == roce.ACK and \
                one.src == before.src and one.src.endswith(f'.{SERVER}'):
            return packets[:at] + [packet._replace(time_ns=packet.time_ns + ns) for packet in packets[at:]]
    raise ValueError('no Reply behind an Ack')


def unaware(packets):
    """The client's RTU does not reach the server, which sends its REP again and takes the first Call only then."""
    parsed = [roce.parse(one.data, one.length) for one in packets]
    reply = next(at for at, one in enumerate(parsed) if one and one.opcode in roce.SENDS and one.src.endswith(f'.{SERVER}'))
    rep = next(at for at, one in enumerate(parsed) if one and one.opcode == roce.UD_SEND_ONLY and one.src.endswith(f'.{SERVER}'))
    again = [packets[rep]._replace(time_ns=packets[reply].time_ns + number * 4 * SECOND) for number in (1, 2)]
    return packets[:reply] + again + [one._replace(time_ns=one.time_ns + 8 * SECOND + SECOND // 2) for one in packets[reply:]]


class Same:
    def __init__(self, rpcrdma, folder):
        self.rpcrdma, self.folder, self.done, self.failed = rpcrdma, folder, 0, []

    def write(self, name, packets, linktype=pcap.LINKTYPE_ETHERNET):
        path = os.path.join(self.folder, name)
        pcap.write(path, packets, linktype)
        return path

    def said(self, command, *paths):
        run = subprocess.run([self.rpcrdma, command, '--json', *paths], capture_output=True, check=False, timeout=60)
        self.done += 1
        if run.returncode not in (0, 1) or (run.stderr and b'no RPC-over-RDMA' not in run.stderr):
            raise ValueError(f'{command} {paths}: {run.stderr.decode()}')
        return run.stdout.decode()

    def compare(self, what, have, want):
        """Counters, of which what one has more is shown; or texts, of which the first line that differs is."""
        if have == want:
            return
        less, more = want, have
        if isinstance(want, collections.Counter):
            less, more = want - have, have - want
        elif isinstance(want, str):
            less, more = next(pair for pair in itertools.zip_longest(want.split('\n'), have.split('\n')) if pair[0] != pair[1])
        self.failed.append(f'{what}:\n  {less}\n  is {more}')


def causes(report, hosts):
    """`hosts`: what is told of the whole capture is told of them."""
    return collections.Counter((one['cause'], one['confidence'], one.get('src', hosts[0]), one.get('dst', hosts[1]), one['count'],
                                one['rpcs'], one['cost_ns']) for one in json.loads(report)['causes'])


def entries(output):
    """The entries of check, connections, credits and rpcs, but for where in the capture they are."""
    def plain(one):
        if isinstance(one, dict):
            return {key: plain(value) for key, value in one.items() if not OF_THE_CAPTURE.search(key)}
        return [plain(each) for each in one] if isinstance(one, list) else one
    found = collections.Counter()
    for line in map(json.loads, output.splitlines()):
        for one in line.get('findings', [line]) if 'violations' in line else line.get('connections', [line]):
            found[json.dumps(plain(one), sort_keys=True)] += 1
    return found


def elsewhere(packets, number):
    """The same of other hosts."""
    return readdress.readdress(packets, lambda one: one if one[0] != 192 else one[:2] + bytes([one[2] + 10 * number]) + one[3:],
                               lambda one: one if one[0] & 1 else one[:3] + bytes([one[3] ^ number]) + one[4:])


def beside(same, recordings):
    """Several hosts' packets in one capture that ends when they do."""
    names = sorted(recordings)
    for chosen in (*itertools.combinations(names, 2), *itertools.combinations(names[::2], 3)):
        packets, want, listed = [], collections.Counter(), {command: collections.Counter() for command in COMMANDS}
        last_ns = recordings[chosen[0]][-1].time_ns
        for number, name in enumerate(chosen):
            own = elsewhere(recordings[name], number)
            own = [one._replace(time_ns=one.time_ns + last_ns - own[-1].time_ns) for one in own]
            packets += own
            path = same.write('one.pcap', own)
            want += causes(same.said('report', path), [f'192.168.{77 + 10 * number}.{end}' for end in (CLIENT, SERVER)])
            if len(chosen) == 2:
                for command in COMMANDS:
                    listed[command] += entries(same.said(command, path))
        path = same.write('all.pcap', sorted(packets, key=lambda one: one.time_ns))
        same.compare(f'report of {" and ".join(chosen)}', causes(same.said('report', path), ('?', '?')), want)
        for command in COMMANDS if len(chosen) == 2 else ():
            same.compare(f'{command} of {" and ".join(chosen)}', entries(same.said(command, path)), listed[command])


def places(packets, rng):
    """Where to cut: in each set-up, in the longest pauses, anywhere."""
    set_up = [at for at, one in enumerate(packets) if partial.is_set_up(one.data)]
    pauses = sorted(range(1, len(packets)), key=lambda at: packets[at - 1].time_ns - packets[at].time_ns)
    return sorted({*set_up[1:6], *pauses[:2], *(rng.randrange(1, len(packets)) for _ in range(2))})


def in_two(same, name, packets):
    path = same.write('all.pcap', packets)
    whole = {command: same.said(command, path) for command in ('report', *COMMANDS)}
    for at in places(packets, random.Random(len(packets))):
        parts = [same.write('1.pcap', packets[:at]), same.write('2.pcap', packets[at:])]
        for number, command in enumerate(whole):
            order = parts if (at + number) % 2 else parts[::-1]
            same.compare(f'{command} of {name}, cut at {at}', same.said(command, *order), whole[command])
        for number, part in enumerate(parts if json.loads(whole['report'])['verdict'] == 'healthy' else (), 1):
            told = {one['cause'] for one in json.loads(same.said('report', part))['causes'] if one['confidence'] != 'low'}
            same.compare(f'report of part {number} of {name}, cut at {at}', told - {'capture-incomplete'}, set())


def exchanged(text):
    """The last byte of each address: that of the client is less than that of the server now."""
    return re.sub(r'(192\.168\.\d+)\.(1|201)\b', lambda one: f'{one[1]}.{202 - int(one[2])}', text)


def moved(same, name, packets):
    path = same.write('all.pcap', packets)
    whole = {command: same.said(command, path) for command in ('report', *COMMANDS)}
    path = same.write('exchanged.pcap', readdress.readdress(
        packets, lambda one: one[:3] + bytes([202 - one[3]]) if one[0] == 192 and one[3] in (1, 201) else one))
    for command, want in whole.items():
        have = same.said(command, path)
        same.compare(f'{command} of {name}, other addresses', collections.Counter(exchanged(have)), collections.Counter(want))
    for carrier in ('vlan', 'sll2', 'vxlan'):
        path = same.write('carrier.pcap', *rewrap.rewrap(packets, carrier))
        same.compare(f'report of {name} as {carrier}', causes(same.said('report', path), ('', '')), causes(whole['report'], ('', '')))


def main():
    rpcrdma, captures = sys.argv[1:3]
    recordings = {name: pcap.read(os.path.join(captures, name, 'capture.pcap'))[0] for name in RECORDINGS}
    for name in ('roce-nfs41-mini', 'roce-nfs3-mini'):
        recordings[name + ' of a slow server'] = delayed(recordings[name], 3 * SECOND)
    recordings['roce-nfs42-mini of a server without RTU'] = unaware(recordings['roce-nfs42-mini'])
    with tempfile.TemporaryDirectory() as folder:
        same = Same(rpcrdma, folder)
        beside(same, recordings)
        for name, packets in recordings.items():
            in_two(same, name, packets)
            moved(same, name, packets)
    print(f'{same.done} runs')
    sys.exit('\n'.join(same.failed) if same.failed else 0)


if __name__ == '__main__':
    main()
