# SPDX-License-Identifier: BSD-2-Clause
"""Of a recording, the captures that lack something: what a tap that sees one direction, a snap length, a busy
capturing host, a late start give. Packets that are left out keep their neighbours' numbers and times."""
import struct

import roce

SNAP_LENGTHS = (*range(48, 321, 16), 106, 114, 116)
LAST = (4, 8, 12, 16, 18, 20, 30, 40)
EACH = (2, 3, 5, 7, 10, 17, 20, 50)
TENTHS = range(1, 10)
SHARES = (0.005, 0.02, 0.1, 0.3)


def source(data):
    """The sender's address, in Ethernet with any VLAN tags."""
    at = 12
    while data[at:at + 2] in (b'\x81\0', b'\x88\xa8'):
        at += 4
    if data[at:at + 2] == b'\x08\0':
        return data[at + 14:at + 18]
    return data[at + 10:at + 26] if data[at:at + 2] == b'\x86\xdd' else None


def is_set_up(data):
    """A datagram to queue pair 1; TCP's SYNs and MPA's Request and Reply."""
    if data[12:14] != b'\x08\0':
        return False
    at = 14 + (data[14] & 15) * 4
    if data[23] == 17:
        return data[at + 8 + 5:at + 8 + 8] == struct.pack('>I', roce.QPN_CM)[1:]
    return data[23] == 6 and (bool(data[at + 13] & 2) or b'MPA ID Re' in data)


def crossed(packets, nth, phase):
    """Of every nth place where two packets go in opposite directions, they change places, and keep the times."""
    out, met, at = list(packets), 0, 0
    while at + 1 < len(out):
        one, two = out[at:at + 2]
        if source(one.data) != source(two.data):
            met += 1
            if met % nth == phase % nth:
                out[at:at + 2] = one._replace(data=two.data), two._replace(data=one.data)
                at += 1
        at += 1
    return out


def captures(packets, rng):
    """Pairs of a name and the packets that are left."""
    for address in sorted({source(one.data) for one in packets} - {None}):
        yield f'only-from-{address.hex()}', [one for one in packets if source(one.data) == address]
        yield f'not-from-{address.hex()}', [one for one in packets if source(one.data) != address]
        for kind, half in (('setup-of', True), ('rest-of', False)):
            yield f'no-{kind}-{address.hex()}', [one for one in packets if source(one.data) != address
                                                 or is_set_up(one.data) != half]
    yield 'no-setup', [one for one in packets if not is_set_up(one.data)]
    for length in SNAP_LENGTHS:
        yield f'snap-{length}', [one._replace(data=one.data[:length]) for one in packets]
    for last in LAST:  # of a Read Request there is not much more than its header
        yield f'without-last-{last}', [one._replace(data=one.data[:-last]) for one in packets]
    for nth in EACH:
        for phase in sorted({0, 1, nth // 2}):
            yield f'drop-{nth}-{phase}', [one for at, one in enumerate(packets) if at % nth != phase]
    for tenth in TENTHS:
        cut = len(packets) * tenth // 10
        yield f'from-{tenth}', packets[cut:]
        yield f'to-{tenth}', packets[:cut]
        for address in sorted({source(one.data) for one in packets} - {None}):
            yield f'from-{tenth}-only-{address.hex()}', [one for one in packets[cut:] if source(one.data) == address]
    half = len(packets) // 2
    for address in sorted({source(one.data) for one in packets} - {None}):
        yield f'second-half-only-{address.hex()}', [one for at, one in enumerate(packets)
                                                    if at < half or source(one.data) == address]
        yield f'first-half-only-{address.hex()}', [one for at, one in enumerate(packets)
                                                   if at > half or source(one.data) == address]
    for nth in (1, 7):  # by two taps that keep not as much of them
        yield f'twice-{nth}', [copy for at, one in enumerate(packets)
                               for copy in ((one, one._replace(data=one.data[:128])) if at % nth == 0 else (one,))]
    for nth in (1, 3, 10):  # two taps, whose packets come crossed
        for phase in (0, 1):
            yield f'crossed-{nth}-{phase}', crossed(packets, nth, phase)
    for few in (1, 2, 3, 5, 8, 13, 21, 34, 55):
        yield f'from-packet-{few}', packets[few:]
    for share in SHARES:
        for n in range(4):
            yield f'without-{share}-{n}', [one for one in packets if rng.random() >= share]
