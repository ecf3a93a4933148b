# SPDX-License-Identifier: BSD-2-Clause
"""Reads pcapng of this machine's byte order, strictly: the judge of what capture writes."""
import struct
from typing import NamedTuple


REPLAYED = 'rpcrdma: this connection was set up before this file'


class Packet(NamedTuple):
    interface: int
    time_ns: int
    data: bytes
    length: int
    comment: str = ''


class Interface(NamedTuple):
    name: str
    description: str
    comment: str
    filter: str
    linktype: int
    snaplen: int
    resolution: int
    offset_s: int = 0


class File(NamedTuple):
    interfaces: list
    packets: list
    statistics: dict  # by interface: {option: number}, of the last block
    comment: str = ''
    ends: dict = None  # by interface: ns until which packets were awaited, where the last block says so
    since: dict = None  # by interface: ns from which its statistics count, where the last block says so

    def replayed(self):
        """What set up connections before the file."""
        return [packet for packet in self.packets if packet.comment == REPLAYED]

    def own(self):
        return [packet for packet in self.packets if packet.comment != REPLAYED]


def options(body):
    found, at = {}, 0
    while at < len(body):
        code, n = struct.unpack_from('=HH', body, at)
        if code == 0:
            assert n == 0 and at + 4 == len(body), 'bytes behind the end of options'
            return found
        assert at + 4 + n <= len(body)
        found[code] = body[at + 4:at + 4 + n]
        at += 4 + (n + 3) // 4 * 4
    assert not body, 'options without their end'
    return found


def text(found, code):
    return found.get(code, b'').decode()


def read(path):
    with open(path, 'rb') as file:
        blob = file.read()
    result, at = File([], [], {}, since={}, ends={}), 0
    while at < len(blob):
        kind, total = struct.unpack_from('=II', blob, at)
        assert total % 4 == 0 and total >= 12 and at + total <= len(blob), f'{path}: byte {at}'
        assert struct.unpack_from('=I', blob, at + total - 4)[0] == total, f'{path}: byte {at}'
        body = blob[at + 8:at + total - 4]
        if at == 0:
            assert kind == 0x0A0D0D0A
            magic, major, minor, length = struct.unpack_from('=IHHq', body)
            assert (magic, major, minor, length) == (0x1A2B3C4D, 1, 0, -1)
            result = result._replace(comment=text(options(body[16:]), 1))
        elif kind == 1:
            linktype, _, snaplen = struct.unpack_from('=HHI', body)
            found = options(body[8:])
            filtered = found.get(11, b'\0')
            assert filtered[:1] == b'\0'
            result.interfaces.append(Interface(text(found, 2), text(found, 3), text(found, 1),
                                               filtered[1:].decode(), linktype, snaplen,
                                               found.get(9, b'\x06')[0],
                                               struct.unpack('=q', found.get(14, bytes(8)))[0]))
        elif kind == 6:
            number, high, low, caplen, length = struct.unpack_from('=IIIII', body)
            assert number < len(result.interfaces)
            end = 20 + (caplen + 3) // 4 * 4
            assert not any(body[20 + caplen:end]), 'padding'
            found = options(body[end:])
            assert set(found) <= {1}
            scale = 10 ** (9 - result.interfaces[number].resolution)
            result.packets.append(Packet(number, (high << 32 | low) * scale + result.interfaces[number].offset_s * 10**9,
                                         body[20:20 + caplen], length, text(found, 1)))
        elif kind == 5:
            number = struct.unpack_from('=I', body)[0]
            assert number < len(result.interfaces)
            found = options(body[12:])
            result.since.pop(number, None)
            result.ends.pop(number, None)
            for code, into in ((2, result.since), (3, result.ends)):
                if code in found:
                    high, low = struct.unpack('=II', found[code])
                    scale = 10 ** (9 - result.interfaces[number].resolution)
                    into[number] = (high << 32 | low) * scale + result.interfaces[number].offset_s * 10**9
            result.statistics[number] = {
                code: int.from_bytes(value, 'little') for code, value in found.items() if code not in (1, 2, 3)}
        else:
            raise AssertionError(f'{path}: byte {at}: block type {kind}')
        at += total
    return result
