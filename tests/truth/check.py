#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""check.py CHECK RPCRDMA RECORDING: holds the command against one recording. CHECK is one of CHECKS
below; RECORDING is a folder with capture.pcap and truth.json. Exits 1 with what disagrees."""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
# pylint: disable=wrong-import-position
import connections
import credits
import delivery
import extract
import judge
import kernel
import messages
import pcap
import rpcs
import tool
import two_places
import tshark
import variants
import wire


class Recording:
    def __init__(self, command, folder):
        self.folder = folder
        self.command = tool.Tool(command)
        self.name = os.path.basename(os.path.normpath(folder))
        self.path = os.path.join(folder, 'capture.pcap')
        self.trace = kernel.Trace(os.path.join(folder, 'truth.json'))

    def capture(self):
        return wire.Capture(self.path)

    def decode(self, packets, linktype):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'variant.pcap')
            pcap.write(path, packets, linktype)
            return self.command.lines('decode', path)[0]


def check_messages(recording):
    """Every Call and Reply that the kernels traced, and no other."""
    lines, _ = recording.command.lines('decode', recording.path)
    return messages.Comparison(recording.trace, lines).complaints


def check_connections(recording):
    """Roles, QP numbers or ports, thresholds."""
    lines, _ = recording.command.lines('connections', recording.path)
    decoded, _ = recording.command.lines('decode', recording.path)
    return connections.compare(recording.trace, lines, decoded, recording.capture().spans())


def check_wire(recording):
    """The complete capture, key by key; and the second opinion itself against the kernels."""
    capture = recording.capture()
    expected = capture.messages()
    complaints = messages.Comparison(recording.trace, [one.expected for one in expected]).complaints
    if complaints:
        return ['the second opinion is wrong: ' + line for line in complaints]
    lines, _ = recording.command.lines('decode', recording.path)
    return judge.Judge(expected, lines).complaints


def check_without_cm(recording):
    """Captured after the connections were made: the QP pairs are inferred."""
    capture = recording.capture()
    packets = variants.without_cm(capture)
    lines = recording.decode(packets, capture.linktype)
    return judge.Judge(capture.messages(packets), lines).complaints


def check_thinned(recording):
    """Every 50th packet is missing."""
    capture = recording.capture()
    packets = variants.thinned(capture)
    lines = recording.decode(packets, capture.linktype)
    return judge.Judge(capture.messages(packets), lines, holes=True).complaints


def check_lossy(recording):
    """A tenth of the packets is missing, with the CM exchange and without. Which end is which may then not
    be known; what is said must be right, and every message that is whole must be there."""
    capture = recording.capture()
    complaints = []
    for seed in range(3):
        packets = variants.without_cm(capture) if seed == 2 else capture.packets
        packets = variants.lossy(packets, seed)
        lines = recording.decode(packets, capture.linktype)
        verdict = judge.Judge(capture.messages(packets), lines, lambda message: True, holes=True)
        unknown = sum(verdict.hedges.values())
        print(f'seed {seed}: {len(lines)} messages, {unknown} facts said not to be known')
        if unknown > max(4, len(lines) // 50):
            complaints.append(f'seed {seed}: too little is known: {dict(verdict.hedges)}')
        complaints += verdict.complaints
    return complaints


def check_cut(recording):
    """The file ends in the middle of a packet: all before it, one line on stderr, status 2."""
    capture = recording.capture()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'cut.pcap')
        packets = variants.cut(capture, path)
        lines, errors = recording.command.lines('decode', path, status=2)
    complaints = judge.Judge(capture.messages(packets), lines).complaints
    if len(errors) != 1 or 'cut.pcap' not in errors[0]:
        complaints.append(f'stderr should be one line that names the file: {errors}')
    return complaints


def check_sliced(recording):
    """128 bytes of each packet: every header and segment that was captured, and no more."""
    capture = recording.capture()
    packets = variants.sliced(capture)
    lines = recording.decode(packets, capture.linktype)
    return judge.Judge(capture.messages(packets), lines).complaints


def check_rpcs(recording):
    """Every Call as a transaction: its name, its lengths, what moved, its Reply; and the sums of the
    client's mountstats."""
    lines, _ = recording.command.lines('rpcs', recording.path)
    complaints = rpcs.Comparison(recording.trace, lines).complaints
    for name in sorted(os.listdir(recording.folder)):
        if name.endswith('-mountstats.txt'):
            complaints += rpcs.compare_mountstats(recording.trace, lines, os.path.join(recording.folder, name))
    return complaints


def check_delivery(recording):
    """When Calls and Replies arrived, and where the time went."""
    lines, _ = recording.command.lines('rpcs', recording.path)
    return delivery.compare(recording.name, recording.trace, lines)


def check_credits(recording):
    """Credits requested, granted and in flight at each message; what the mount options lead to."""
    command = recording.command
    messages_, _ = command.lines('decode', recording.path)
    packets, linktype = pcap.read(recording.path)
    with tempfile.TemporaryDirectory() as folder:
        series = os.path.join(folder, 'series.csv')
        (result,), _ = command.lines('credits', recording.path, '--series', series)
        complaints = credits.Comparison(recording.name, recording.trace, messages_, result,
                                        credits.read_series(series), packets).complaints
        lines, _ = command.lines('rpcs', recording.path)
        if len(recording.trace.clients) == 1:
            complaints += credits.in_use(recording.name, recording.trace.clients[0], lines, result)
        parts = {'thinned': [one for one in packets if one.frame % 50],
                 'lossy': variants.lossy(packets, 0),
                 'begun late': packets[len(packets) // 3:]}
        if recording.name.startswith('roce-'):
            parts['without CM'] = variants.without_cm(recording.capture())
        for what, part in parts.items():
            path = os.path.join(folder, 'part.pcap')
            pcap.write(path, part, linktype)
            (one,), _ = command.lines('credits', path)
            complaints += credits.damaged(one, result, what, complete=what == 'without CM')
    return complaints


def check_two_places(recording):
    """Captured at both ends: times on the way, and what is lost there."""
    if len({client.addresses and min(client.addresses) for client in recording.trace.clients}) != 1:
        return []
    with tempfile.TemporaryDirectory() as folder:
        return two_places.compare(recording, folder)


def check_extract(recording):
    """Every file that was read or written, from the messages; the same messages as tshark reads them."""
    lines, _ = recording.command.lines('rpcs', recording.path)
    with tempfile.TemporaryDirectory() as folder:
        out, messages_folder = os.path.join(folder, 'out.pcap'), os.path.join(folder, 'messages')
        # what was on its way when a connection ended is not whole, and that is said
        quiet = ['-q'] if 'reconnect' in recording.name else []
        recording.command.run('extract', *quiet, '-w', out, '-d', messages_folder, recording.path)
        found = extract.Folder(messages_folder)
        n = found.compare(os.path.join(recording.folder, 'files.tsv'))
        print(f'{n} files, {len(found.index)} messages')
        complaints = found.complaints
        if not tshark.missing():
            complaints += extract.compare_tshark(out, lines)
    return complaints


def check_damaged(recording):
    """Captures as they are met in the field: never a wrong byte, nothing twice, and what is missing said."""
    packets, linktype = pcap.read(recording.path)
    sources = {packet.data[6:12] for packet in packets}  # Ethernet's: whatever is within
    parts = {'thinned': [one for one in packets if one.frame % 50],
             'lossy': variants.lossy(packets, 1),
             'begun late': packets[len(packets) // 3:],
             'ended early': packets[:len(packets) // 2],
             # longer than any transport header here: what a cut header does not say, extract cannot know
             'sliced': [one._replace(data=one.data[:320]) for one in packets]}
    for number, source in enumerate(sorted(sources)[:2]):
        parts[f'only what {number} sends'] = [one for one in packets if one.data[6:12] == source]
    if recording.name.startswith('roce-'):
        parts['without CM'] = variants.without_cm(recording.capture())
    lines, _ = recording.command.lines('rpcs', recording.path)
    complaints = []
    with tempfile.TemporaryDirectory() as folder:
        recording.command.run('extract', '-d', os.path.join(folder, 'all'), recording.path)
        all_of_it = extract.messages(os.path.join(folder, 'all'))
        for what, part in parts.items():
            path, messages_folder = os.path.join(folder, 'part.pcap'), os.path.join(folder, what)
            out = os.path.join(folder, 'out.pcap')
            pcap.write(path, part, linktype)
            recording.command.run('extract', '-q', '-w', out, '-d', messages_folder, path)
            wrong, counts = extract.compare_damaged(all_of_it, extract.messages(messages_folder))
            print(what, dict(counts))
            complaints += [f'{what}: {line}' for line in wrong]
            told, _ = recording.command.lines('rpcs', path)
            complaints += [f'{what}: {line}' for line in rpcs.compare_damaged(
                lines, told, sliced=what == 'sliced', complete=what in ('without CM', 'sliced'),
                exact=not re.match('iwarp|.*(loss|reconnect|dup)', recording.name),
                packed=what == 'sliced' and recording.name.startswith('iwarp'))]
            if not tshark.missing() and what in ('thinned', 'begun late'):
                complaints += [f'{what}: {line}' for line in extract.compare_tshark(out, told, partial=True)]
    return complaints


CHECKS = {'messages': check_messages, 'connections': check_connections, 'wire': check_wire,
          'without-cm': check_without_cm, 'thinned': check_thinned, 'lossy': check_lossy, 'cut': check_cut,
          'sliced': check_sliced, 'rpcs': check_rpcs, 'delivery': check_delivery, 'credits': check_credits,
          'two-places': check_two_places, 'extract': check_extract, 'damaged': check_damaged}


def main():
    name, command, folder = sys.argv[1:]
    try:
        complaints = CHECKS[name](Recording(command, folder))
    except tool.Failure as failure:
        complaints = [str(failure)]
    for line in complaints[:40]:
        print(line)
    if complaints:
        print(f'{len(complaints)} disagreements')
        sys.exit(1)


if __name__ == '__main__':
    main()
