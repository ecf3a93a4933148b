#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""port_test.py RPCRDMA RECORDING...: NFS behind another service port is decoded as behind 20049, with its set-up
in the capture; with RFC 8797 private data in it, which tell, and without, where the messages must."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
# pylint: disable=wrong-import-position
import pcap
import tool
import variants

PORTS = (20050, 2049, 445, 4420, 65535)


def lines(command, what, packets, link):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'variant.pcap')
        pcap.write(path, packets, link)
        return command.lines(what, path)[0]


def without(one, keys):
    return {key: value for key, value in one.items() if key not in keys}


def compare(command, packets, link, port, moved_keys):
    """Everything but the port is the same."""
    moved = variants.on_port(packets, port)
    if moved == packets:
        yield 'no packet names the port: nothing is tested'
    for what in ('decode', 'connections', 'rpcs'):
        want, have = lines(command, what, packets, link), lines(command, what, moved, link)
        if len(want) != len(have) or not want:
            yield f'{what}: {len(have)} lines, expected {len(want)}'
        for a, b in zip(want, have):
            if without(a, moved_keys) != without(b, moved_keys):
                yield f'{what}: {b}, expected {a}'
                break
        if what == 'connections' and 'server_port' in want[0] and {one.get('server_port') for one in have} != {port}:
            yield f'server ports {[one.get("server_port") for one in have]}'


def main():
    command, failed = tool.Tool(sys.argv[1]), False
    for folder in sys.argv[2:]:
        packets, link = pcap.read(os.path.join(folder, 'capture.pcap'))
        keys = ('src_port', 'dst_port', 'server_port')
        for private in (True, False):
            shown = packets if private else variants.without_private_data(packets)
            for port in PORTS if private else PORTS[:2]:
                complaints = list(compare(command, shown, link, port, keys))
                print(f'{os.path.basename(folder)}, port {port}, {"with" if private else "without"} private data:',
                      *complaints or ['the same'], sep='\n  ')
                failed |= bool(complaints)
    sys.exit(failed)


if __name__ == '__main__':
    main()
