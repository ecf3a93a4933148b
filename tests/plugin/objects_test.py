# SPDX-License-Identifier: GPL-2.0-or-later
"""tshark --export-objects rpcrdma,FOLDER: what was read of files and written to them, by name. The hashes are
those that client and server took of the files."""
import collections
import hashlib
import os
import struct
import unittest

import host
import generated  # noqa: F401 pylint: disable=unused-import
import pcap
import variants
# pylint: disable=wrong-import-order
import rule_talk
from script import FILE_HANDLE

MOVED = 'read', 'write'


class ObjectsTest(host.PluginTest):
    def export(self, path, *options):
        folder = os.path.join(self.folder, 'objects')
        os.mkdir(folder)
        os.chmod(folder, 0o777)
        os.chmod(self.folder, 0o777)
        host.run('-q', '-r', path, *options, '--export-objects', f'rpcrdma,{folder}', status=None)
        found = []
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), 'rb') as file:
                found.append((name, file.read()))
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
        return found

    @staticmethod
    def files(name):
        """{a file's name: hashes}, {of those whose bytes went over RDMA}"""
        every, moved = collections.defaultdict(set), collections.defaultdict(set)
        with open(os.path.join(host.CAPTURES, name, 'files.tsv'), encoding='utf-8') as table:
            for line in table:
                kind, path, _, digest, _ = line.rstrip('\n').split('\t')
                base = os.path.basename(path)
                every[base].add(digest)
                if kind in MOVED:
                    moved[base].add(digest)
        return every, moved

    def test_recordings(self):
        """As often in one pass as in two."""
        for name in host.recordings():
            every, moved = self.files(name)
            for options in ((), ('-2',)):
                with self.subTest(name, options=options):
                    got = collections.defaultdict(set)
                    for file, content in self.export(host.capture(name), *options):
                        base = file.rsplit('%2f', 1)[-1].split('(', 1)[0]
                        got[base].add(hashlib.sha256(content).hexdigest())
                    for base, digests in moved.items():
                        self.assertTrue(digests & got[base], base)  # one: as it was when it was read last
                    for base in every.keys() & got.keys():
                        self.assertLessEqual(got[base], every[base], base)

    def made(self, *pieces):
        """WRITEs of one file, (offset, bytes) each."""
        talk = rule_talk.Conversation()
        for offset, content in pieces:
            arguments = FILE_HANDLE + struct.pack('>QIII', offset, len(content), 2, len(content))
            xid = talk.call(rule_talk.WRITE, arguments + content + bytes(-len(content) % 4))
            talk.written(xid, len(content))
        path = self.path()
        pcap.write(path, talk.packets)
        return path

    def test_order(self):
        """Offsets in any order, and again."""
        path = self.made((8192, b'c' * 100), (4096, b'b' * 4096), (8292, b'd' * 8), (4096, b'B' * 10))
        (_, content), = self.export(path)
        self.assertEqual(content, b'B' * 10 + b'b' * 4086 + b'c' * 100 + b'd' * 8)

    def test_between(self):
        """Zeros where nothing was written."""
        (name, content), = self.export(self.made((0, b'a'), (10, b'b')))
        self.assertEqual(content, b'a' + bytes(9) + b'b')
        self.assertRegex(name, r'^filehandle-[0-9a-f]{8}$')

    def test_far(self):
        """No file is longer than the memory limit."""
        path = self.made((0, b'near'), (1 << 62, b'far'), ((1 << 64) - 2, b'beyond'))
        self.assertEqual([content for _, content in self.export(path)], [b'near'])

    def test_not_captured(self):
        """What was cut off is not made up."""
        name = 'roce-nfs3-mini'
        path = self.path()
        pcap.write(path, variants.sliced(host.recording(name)))
        every, _ = self.files(name)
        for file, content in self.export(path):
            base = file.rsplit('%2f', 1)[-1].split('(', 1)[0]
            if base in every and not content.strip(b'\0') == b'':
                self.assertNotIn(b'\0' * 64, content)


if __name__ == '__main__':
    unittest.main()
