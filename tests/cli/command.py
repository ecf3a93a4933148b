# SPDX-License-Identifier: BSD-2-Clause
"""Runs the command under test and checks exit status and stderr, for the *_test.py here and below."""
import glob
import os
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
# what these tests share with others
sys.path[:0] = [os.path.join(HERE, '..', *folder) for folder in (('tools',), ('capture',), ('..', 'captures', 'generate'))]
# pylint: disable=wrong-import-position
import pcap

RPCRDMA, CAPTURES = sys.argv[1:3]
del sys.argv[1:3]


def capture(name='roce-nfs3-mini'):
    return os.path.join(CAPTURES, name, 'capture.pcap')


def recordings(folder=None):
    """Those that are shipped, and in a folder of more."""
    return [path for one in (CAPTURES, folder) if one
            for path in sorted(glob.glob(os.path.join(one, '*', 'capture.pcap')))]


class CommandTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, data, name='file.pcap'):
        path = os.path.join(self.folder, name)
        with open(path, 'wb') as out:
            out.write(data)
        return path

    def run_command(self, *arguments, status=0, stdin=None, errors=None):
        """stdout of the command. stderr must have `errors` lines: 0, or 1 where status is 2, unless
        told otherwise."""
        run = subprocess.run([RPCRDMA, *arguments], input=stdin, capture_output=True, check=False,
                             timeout=120)
        self.stderr = run.stderr.decode()
        self.assertEqual(run.returncode, status, f'{arguments}: {self.stderr}')
        lines = self.stderr.splitlines()
        want = errors if errors is not None else int(status == 2)
        self.assertEqual(len(lines), want, f'{arguments}: {self.stderr}')
        for line in lines:
            self.assertTrue(line.startswith('rpcrdma'), line)
        return run.stdout.decode()

    def packets(self, name='roce-nfs3-mini'):
        return pcap.read(capture(name))[0]


def pcap_header(magic=0xa1b2c3d4, order='<', linktype=1, major=2, minor=4):
    return struct.pack(order + 'IHHiIII', magic, major, minor, 0, 0, 262144, linktype)


def pcap_packet(data, seconds=1, order='<', caplen=None, length=None):
    return struct.pack(order + 'IIII', seconds, 0, len(data) if caplen is None else caplen,
                       len(data) if length is None else length) + data


def block(kind, body, order='<'):
    body += bytes(-len(body) % 4)
    return struct.pack(order + 'II', kind, len(body) + 12) + body + \
        struct.pack(order + 'I', len(body) + 12)


def section(order='<'):
    return block(0x0A0D0D0A, struct.pack(order + 'IHHq', 0x1A2B3C4D, 1, 0, -1), order)


def interface(linktype=1, snaplen=0, options=b'', order='<'):
    return block(1, struct.pack(order + 'HHI', linktype, 0, snaplen) + options, order)


def option(code, value, order='<'):
    return struct.pack(order + 'HH', code, len(value)) + value + bytes(-len(value) % 4)


def enhanced(data, ticks, number=0, length=None, order='<'):
    return block(6, struct.pack(order + 'IIIII', number, ticks >> 32, ticks & 0xffffffff, len(data),
                                len(data) if length is None else length) + data, order)


def main():
    unittest.main()
