# SPDX-License-Identifier: BSD-2-Clause
"""files_test.py RPCRDMA CAPTURES: which file an RPC is about, and files told apart."""
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
# pylint: disable=wrong-import-position
import command
from nfs_talk import Nfs


class Files(command.CommandTest):
    def path(self, name='files.pcap'):
        return os.path.join(self.folder, name)

    def rows(self, *arguments):
        """Name, server, handle (its number) and Calls of each file."""
        lines = self.run_command('rpcs', '--per', 'file', '--json', *arguments).splitlines()
        return sorted((row['file'], row['dst'], int(row['filehandle'][:2], 16) if 'filehandle' in row else None, row['calls'])
                      for row in map(json.loads, lines))

    def shown(self, *arguments):
        """Calls and what is shown of each file in text."""
        lines = self.run_command(*arguments).splitlines()
        return sorted((int(line.split()[0]), re.split(r' [0-9]+ +[0-9]+ (?=\D)', line)[-1]) for line in lines[1:])


class PerFile(Files):
    def test_one_name_in_directories_that_are_not_known(self):
        nfs = Nfs()
        for directory, file, reads in ((1, 11, 1), (2, 12, 2), (3, 13, 3)):
            nfs.lookup(directory, b'Makefile', file)
            for _ in range(reads):
                nfs.read(file)
        path = nfs.save(self.path())
        server = '192.0.2.1'
        self.assertEqual(self.rows(path), [('.../Makefile', server, file, file - 9) for file in (11, 12, 13)])
        self.assertEqual(self.shown('rpcs', '--per', 'file', path),
                         [(file - 9, f'.../Makefile (handle ...{4 * f"{file:02x}"})') for file in (11, 12, 13)])
        diff = [json.loads(line) for line in self.run_command('diff', '--per', 'file', '--json', path, path).splitlines()]
        self.assertEqual([row['first'] for row in diff], [row['second'] for row in diff])
        self.assertEqual(sorted(row['first']['calls'] for row in diff), [2, 3, 4])

    def test_one_name_at_two_servers(self):
        first = Nfs()
        second = Nfs('192.0.2.2', first.out, first.talk.clock, 34)
        for nfs, reads in ((first, 1), (second, 2)):
            nfs.lookup(1, b'f', 2)
            for _ in range(reads):
                nfs.read(2)
        path = first.save(self.path())
        self.assertEqual(self.rows(path), [('.../f', '192.0.2.1', 2, 2), ('.../f', '192.0.2.2', 2, 3)])
        self.assertEqual(self.shown('rpcs', '--per', 'file', path), [(2, '.../f (at 192.0.2.1)'), (3, '.../f (at 192.0.2.2)')])

    def test_a_file_that_another_one_replaced(self):
        nfs = Nfs()
        nfs.lookup(1, b'b')         # nothing has that name yet
        nfs.create(1, b'b', 10)
        nfs.create(1, b'a', 11)
        nfs.rename(1, b'a', 1, b'b')
        nfs.read(11)
        nfs.read(10)                # was open, and has no name any more
        path = nfs.save(self.path())
        self.assertEqual(self.rows(path), [('.../b', '192.0.2.1', 10, 3), ('.../b', '192.0.2.1', 11, 3)])
        last = [json.loads(line).get('path') for line in self.run_command('rpcs', '--json', path).splitlines()[-2:]]
        self.assertEqual(last, ['.../b', None])

    def test_before_its_name_is_known(self):
        nfs = Nfs()
        nfs.read(5)
        nfs.lookup(1, b'f', 5)
        nfs.read(5)
        self.assertEqual(self.rows(nfs.save(self.path())), [('.../f', '192.0.2.1', 5, 3)])


if __name__ == '__main__':
    unittest.main()
