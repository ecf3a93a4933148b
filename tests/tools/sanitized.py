# SPDX-License-Identifier: BSD-2-Clause
"""Compares what a command says of a capture with what it says of the sanitized one: equal, but for a mapping that
gives each address, name and so on one other, and no two the same. And finds what must not be left: file data."""
import json
import struct

import mpa
import pcap
import roce
import wire

# Keys whose values are replaced; what is in a list under such a key, too
REPLACED = {
    'src': 'address', 'dst': 'address', 'client': 'address', 'server': 'address', 'address': 'address',
    'path': 'path', 'path2': 'path', 'filehandle': 'filehandle', 'filehandle2': 'filehandle', 'file': 'path',
    'user': 'user',
}
SHORT = 2  # so short a name may become itself or another one's, by chance: there are few of them
FREE = {'user': {0, '0', '(not known)'}, 'path': {'(no file)'}}  # values that stay


class Mapping:
    def __init__(self, shift_ns=0):
        self.shift_ns = shift_ns
        self.forth, self.back = {}, {}

    def pair(self, kind, one, other, where):
        """Each value stands for one value."""
        for table, key, value in ((self.forth, one, other), (self.back, other, one)):
            known = table.setdefault((kind, key), value)
            if known != value:
                raise AssertionError(f'{where}: {key!r} is {value!r}, was {known!r}')
        if one == other and one not in FREE.get(kind, ()):
            raise AssertionError(f'{where}: {one!r} was not replaced')

    def path(self, one, other, where):
        """Part by part: what is not known of a path is told by its handle."""
        if one == other and one in FREE['path']:
            return
        parts, others = one.split('/'), other.split('/')
        if len(parts) != len(others):
            raise AssertionError(f'{where}: {one!r} {other!r}')
        for part, new in zip(parts, others):
            if len(part) <= SHORT:
                self.forth.setdefault(('name', part), new)
                if self.forth['name', part] != new or len(new) != len(part):
                    raise AssertionError(f'{where}: {part!r} {new!r}')
            elif part != new or part != '...':
                self.pair('name', part, new, where)

    def compare(self, one, other, where='', kind=None):
        if type(one) is not type(other):
            raise AssertionError(f'{where}: {one!r} {other!r}')
        if isinstance(one, dict):
            if list(one) != list(other):
                raise AssertionError(f'{where}: {list(one)} {list(other)}')
            for key, value in one.items():
                # "client" is also who the private data is of
                named = REPLACED.get(key) if isinstance(value, (str, int)) else None
                self.compare(value, other[key], f'{where}.{key}', named or key)
        elif isinstance(one, list):
            if len(one) != len(other):
                raise AssertionError(f'{where}: {len(one)} {len(other)}')
            if kind == 'errors':
                one, other = ordered(one), ordered(other)
            for i, (value, new) in enumerate(zip(one, other)):
                self.compare(value, new, f'{where}[{i}]', kind)
        elif kind == 'path' and isinstance(one, str):
            self.path(one, other, where)
        elif kind in ('address', 'filehandle', 'user'):
            self.pair(kind, one, other, where)
        elif kind == 'time_ns' or (kind or '').endswith('_time_ns'):
            if one + self.shift_ns != other:
                raise AssertionError(f'{where}: {one} {other}')
        elif one != other:
            raise AssertionError(f'{where} ({kind}): {one!r} {other!r}')


def ordered(objects):
    """By what is not replaced: of two that are equal else, the order may be that of names."""
    def key(one):
        return json.dumps([value for name, value in sorted(one.items()) if name not in REPLACED], sort_keys=True)
    return sorted(objects, key=key)


def pairs(path):
    """The packets of RoCEv2 of a capture, taken apart, with their bytes."""
    for packet in pcap.read(path)[0]:
        one = roce.parse(packet.data, packet.length)
        if one:
            yield packet, one


def ours(path):
    """Those that should be passed: of RoCEv2, and all of TCP of the service's port."""
    return [packet for packet in pcap.read(path)[0] if roce.parse(packet.data, packet.length) or mpa.parse(packet)]


def moved_data(path):
    """What RDMA Writes and Reads moved of data items, as bytes per packet or FPDU: of chunks that a version 1 header has in
    its write list, or in its read list with a position."""
    yield from mpa.moved_data(pcap.read(path)[0])
    handles, others, reads, writing = set(), set(), {}, {}
    for message in wire.Capture(path).messages():
        header = message.expected
        handles.update(int(segment['handle'], 16) for segment in header.get('read', ()) if segment['position'])
        handles.update(int(segment['handle'], 16) for chunk in header.get('write', ()) for segment in chunk)
        others.update(int(segment['handle'], 16) for segment in header.get('read', ()) if not segment['position'])
        others.update(int(segment['handle'], 16) for segment in header.get('reply', ()))
    handles -= others  # another host's, or another time
    for _, one in pairs(path):
        if one.opcode == roce.READ_REQUEST and len(one.extension) == 16:
            handle, length = struct.unpack_from('>II', one.extension, 8)
            for psn in range(one.psn, one.psn + length // 256 + 2):
                reads[one.dst, one.src, psn & 0xFFFFFF] = handle
    for _, one in pairs(path):
        key = one.src, one.dst, one.dst_qpn
        if one.opcode in (roce.WRITE_FIRST, roce.WRITE_ONLY) and len(one.extension) == 16:
            writing[key] = struct.unpack_from('>I', one.extension, 8)[0]
        if roce.WRITE_FIRST <= one.opcode <= roce.WRITE_ONLY_IMM and writing.get(key) in handles:
            yield one.payload
        if roce.RESPONSE_FIRST <= one.opcode <= roce.RESPONSE_ONLY and \
                reads.get((one.src, one.dst, one.psn)) in handles:
            yield one.payload


def windows(pieces, least=3):
    """All strings of 8 bytes, but for those of fewer than `least` different ones: zeros and the like are anybody's."""
    found = set()
    for piece in pieces:
        found.update(piece[i:i + 8] for i in range(len(piece) - 7))
    return {one for one in found if len(set(one)) >= least}
