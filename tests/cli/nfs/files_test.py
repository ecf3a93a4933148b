# SPDX-License-Identifier: BSD-2-Clause
"""files_test.py RPCRDMA CAPTURES: which file an RPC is about, and files told apart."""
import json
import os
import re
import unittest

import command
from nfs_talk import LOOKUPP, READ, RESTORE, ROOT, SAVE, Nfs, getfh, link, look, putfh, remove, rename, words


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

    def trunk(self, second_first, ahead=0):
        """A session of one server, and what another address does with one of its name."""
        name, attributes = b'SESSIONSESSION01', words(0, 65536, 65536, 4096, 8, 8, 0)
        create = (43, bytes(8) + words(2, 0) + attributes * 2 + words(0x40000000, 0), name + words(2, 0) + attributes * 2)
        bind = (41, name + words(3, 0), name + words(3, 0))

        def sequence(n):
            return (53, name + words(n, 0, 0, 1), name + words(n, 0, 7, 7, 0))
        first = Nfs()
        second = Nfs('192.0.2.2', first.out, first.talk.clock, 34)
        first.compound(create)
        second.compound({'create': create, 'bind': bind}[second_first])
        first.compound(sequence(1), ROOT, look(b'f'), getfh(7))
        for n in range(2, 6):
            (first if n % 2 else second).compound(sequence(n if n % 2 else n + ahead), putfh(7), READ)
        return first.save(self.path())

    def test_one_server_at_two_addresses(self):
        apart = [('/f', 3), ('handle ' + 28 * '07', 2)]
        for trunk, want in ((('bind', 0), [('/f', 5)]), (('create', 0), apart), (('bind', 1000), apart)):
            rows = self.run_command('rpcs', '--per', 'file', '--json', self.trunk(*trunk)).splitlines()
            rows = [(row['file'], row['calls']) for row in map(json.loads, rows) if 'filehandle' in row]
            self.assertEqual(sorted(rows), want)

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

    def path_of_reads(self, nfs):
        lines = map(json.loads, self.run_command('rpcs', '--json', nfs.save(self.path())).splitlines())
        return [one.get('path') for one in lines if one['procedure'] == 6]

    def test_two_names(self):
        """A file has the names that LINK gave it until they are removed, replaced, or renamed."""
        nfs = Nfs()
        nfs.create(1, b'tmp', 10)
        nfs.link(10, 1, b'lock')
        nfs.read(10)
        nfs.remove(1, b'tmp')
        nfs.read(10)                    # as locks by LINK are taken
        nfs.remove(1, b'lock')
        nfs.read(10)                    # was open
        nfs.create(1, b'a', 11)
        nfs.link(11, 1, b'b', status=17)
        nfs.link(11, 1, b'c')
        nfs.lookup(1, b'c', 11)
        nfs.create(1, b'c', 12)         # replaces one of two
        nfs.read(11)
        nfs.read(12)
        nfs.link(11, 1, b'd')
        nfs.rename(1, b'd', 1, b'e')
        nfs.rename(1, b'a', 1, b'e')    # of one file: nothing is done
        nfs.read(11)
        nfs.remove(1, b'a', status=1)
        nfs.read(11)
        nfs.rename(1, b'unknown', 1, b'a')
        nfs.read(11)
        nfs.remove(1, b'e')
        nfs.link(14, 1, b'g')           # which had no name that is known
        nfs.read(14)
        self.assertEqual(self.path_of_reads(nfs), ['.../' + name for name in (
            'tmp', 'lock', 'lock', 'a', 'c', 'a', 'a', 'e', 'g')])

    @staticmethod
    def cut(nfs, name):
        """Captures its last packet with that name, a Call, up to the name."""
        at, packet = next((i, one) for i, one in reversed(list(enumerate(nfs.out))) if name in one.data)
        nfs.out[at] = packet._replace(data=packet.data[:packet.data.index(name)])

    def test_new_name_was_cut_off(self):
        nfs = Nfs()
        nfs.create(1, b'a', 10)
        nfs.rename(1, b'a', 1, b'target')
        self.cut(nfs, b'target')
        nfs.read(10)                    # nobody knows its name
        nfs.create(1, b'b', 11)
        nfs.rename(1, b'source', 1, b'b')
        self.cut(nfs, b'source')        # and what became of b
        nfs.read(11)
        nfs.link(11, 1, b'c')
        nfs.rename(1, b'b', 1, b'target')
        self.cut(nfs, b'target')
        nfs.read(11)                    # has that name, too
        self.assertEqual(self.path_of_reads(nfs), [None, '.../b', '.../c'])

    def compared(self, *captures):
        """Name, handles and Calls of each row."""
        paths = [nfs.save(self.path(f'{i}.pcap')) for i, nfs in enumerate(captures)]
        rows = map(json.loads, self.run_command('diff', '--per', 'file', '--json', *paths).splitlines())
        shown = [[row['file'], *((row[side].get('filehandle', '')[:2], row[side]['calls']) if side in row else None
                                 for side in ('first', 'second'))] for row in rows]
        return sorted(shown, key=str), paths

    @staticmethod
    def reads(*files, server='192.0.2.1', before=None):
        """As many READs of each file as its place says; all have one name in directories that are not known."""
        nfs = Nfs(server, before.out, before.talk.clock, 34) if before else Nfs(server)
        for directory, file in enumerate(files, 1):
            nfs.lookup(100 + directory, b'x', file)
            for _ in range(directory):
                nfs.read(file)
        return nfs

    def test_diff_of_files_that_are_made_anew(self):
        rows, paths = self.compared(self.reads(2, 3), self.reads(7, 8, 9))
        self.assertEqual(rows, [['.../x', ('', 5), ('', 9)]])
        self.assertTrue(self.run_command('diff', '--per', 'file', *paths).endswith(' .../x (2 files of A, 3 of B)\n'))
        rows, paths = self.compared(self.reads(2, 3, 4), self.reads(7, 3))   # one stayed
        self.assertEqual(rows, [['.../x', ('', 6), ('07', 2)], ['.../x', ('03', 3), ('03', 3)]])
        self.assertIn('.../x (2 files of A, 1 of B)', self.run_command('diff', '--per', 'file', *paths))
        rows, _ = self.compared(self.reads(2), self.reads(2, 3))
        self.assertEqual(rows, [['.../x', ('02', 2), ('02', 2)], ['.../x', None, ('03', 3)]])
        first, second = self.reads(2), self.reads(7)    # at two servers
        self.reads(2, 3, server='192.0.2.2', before=first)
        self.reads(8, 9, server='192.0.2.2', before=second)
        rows, _ = self.compared(first, second)
        self.assertEqual(rows, [['.../x', ('', 5), ('', 5)], ['.../x', ('02', 2), ('07', 2)]])

    def test_before_its_name_is_known(self):
        nfs = Nfs()
        nfs.read(5)
        nfs.lookup(1, b'f', 5)
        nfs.read(5)
        self.assertEqual(self.rows(nfs.save(self.path())), [('.../f', '192.0.2.1', 5, 3)])


class Compound(Files):
    """/exp/dir/sub and /exp/dir/h: handles 2, 3, 4, 5."""

    def setUp(self):
        super().setUp()
        self.nfs = Nfs()
        self.nfs.compound(ROOT, getfh(1))
        for directory, name, found in ((1, b'exp', 2), (2, b'dir', 3), (3, b'sub', 4), (3, b'h', 5)):
            self.nfs.compound(putfh(directory), look(name), getfh(found))

    def paths(self, n):
        """Those of the last RPCs."""
        lines = self.run_command('rpcs', '--json', self.nfs.save(self.path())).splitlines()
        return [json.loads(line).get('path') for line in lines[-n:]]

    def test_root_without_its_handle(self):
        self.nfs.compound(ROOT, READ)
        path = self.nfs.save(self.path())
        self.assertEqual([row[2:] for row in self.rows(path) if row[0] == '/'], [(1, 2)])
        nfs = Nfs()
        nfs.compound(ROOT, READ)
        self.assertEqual([(row[0], *row[2:]) for row in self.rows(nfs.save(self.path()))], [('/', None, 1)])

    def test_root_before_its_handle(self):
        """It is one directory under both, and so is what was asked for below it."""
        nfs = Nfs()
        nfs.compound(ROOT)
        nfs.compound(ROOT, look(b'b', 2))       # fails
        nfs.compound(ROOT, look(b'a'), look(b'b', 2))
        nfs.compound(ROOT, getfh(1))
        nfs.compound(putfh(1), READ)
        nfs.compound(putfh(1), look(b'b', 2))
        nfs.compound(putfh(1), look(b'a'), getfh(2))
        nfs.compound(putfh(2), look(b'b', 2))
        path = nfs.save(self.path())
        self.assertEqual(self.shown('rpcs', '--per', 'file', path), [(1, '/a'), (2, '/a/b'), (2, '/b'), (3, '/')])
        self.assertEqual([row[2] for row in self.rows(path)], [1, 2, 2, 1])
        intervals = self.run_command('rpcs', '--per', 'file', '--interval', '100', '--json', path).splitlines()
        self.assertEqual(len(intervals), 4)
        nfs.compound(putfh(1), look(b'b'), getfh(4))
        self.assertIn(('/b', '192.0.2.1', 4, 3), self.rows(nfs.save(path)))

    def test_restored(self):
        self.nfs.compound(putfh(3), SAVE, look(b'sub'), RESTORE, look(b'h'), getfh(5), READ)
        self.nfs.compound(putfh(5), READ)
        self.assertEqual(self.paths(2), ['/exp/dir/h'] * 2)

    def test_restored_to_look_at_the_directory(self):
        """As Linux does behind OPEN and CREATE: it is about their file."""
        self.nfs.compound(putfh(3), SAVE, look(b'new'), getfh(6), RESTORE, (9, bytes(4), bytes(8)))
        self.nfs.compound(putfh(6), READ)
        self.assertEqual(self.paths(2), ['/exp/dir/new'] * 2)

    def test_up(self):
        self.nfs.compound(putfh(3), look(b'sub'), LOOKUPP, look(b'h'), getfh(5), READ)
        self.nfs.compound(putfh(4), LOOKUPP, look(b'h'), getfh(5), READ)
        self.nfs.compound(putfh(4), LOOKUPP, getfh(3))
        self.nfs.compound(putfh(5), READ)
        self.nfs.compound(putfh(8), LOOKUPP, look(b'k'), getfh(9))  # from where nothing is known
        self.nfs.compound(putfh(9), READ)
        self.assertEqual(self.paths(6), ['/exp/dir/h', '/exp/dir/h', '/exp/dir', '/exp/dir/h', '.../../k', None])

    def test_handles_on_the_way(self):
        self.nfs.compound(ROOT, look(b'a'), getfh(10), look(b'b'), getfh(11), look(b'c'), getfh(12))
        for file in (10, 11, 12):
            self.nfs.compound(putfh(file), READ)
        self.assertEqual(self.paths(3), ['/a', '/a/b', '/a/b/c'])

    def test_two_names(self):
        nfs = self.nfs
        nfs.compound(putfh(5), SAVE, putfh(4), link(b'second'))
        nfs.compound(putfh(5), READ)
        nfs.compound(putfh(3), remove(b'h', 1))                     # fails
        nfs.compound(putfh(5), READ)
        nfs.compound(putfh(3), remove(b'h'))
        nfs.compound(putfh(5), READ)
        nfs.compound(putfh(3), look(b'sub'), look(b'second'), SAVE, putfh(2), look(b'dir'), link(b'third'))
        nfs.compound(putfh(2), look(b'dir'), look(b'sub'), remove(b'second'))
        nfs.compound(putfh(5), READ)
        paths = self.paths(8)
        self.assertEqual([paths[i] for i in (0, 2, 4, 7)],
                         ['/exp/dir/h', '/exp/dir/h', '/exp/dir/sub/second', '/exp/dir/third'])

    def test_renamed_on_the_way(self):
        """Directories that were passed by name alone follow a RENAME, and are known again by their handle."""
        nfs = self.nfs
        nfs.compound(ROOT, look(b'far'), look(b'down'), look(b'f'), getfh(20))
        nfs.compound(ROOT, SAVE, rename(b'far', b'near'))
        nfs.compound(putfh(20), READ)
        nfs.compound(putfh(1), look(b'near'), getfh(21))
        nfs.compound(putfh(21), look(b'down'), getfh(22))
        nfs.compound(putfh(21), SAVE, rename(b'down', b'up'))
        nfs.compound(putfh(20), READ)
        nfs.compound(putfh(22), READ)
        nfs.compound(putfh(3), look(b'sub'), SAVE, putfh(3), rename(b'nothing', b'else', 2))  # fails
        nfs.compound(putfh(2), look(b'dir'), SAVE, putfh(2), rename(b'h', b'i'))     # below what is saved
        nfs.compound(putfh(5), READ)
        paths = self.paths(9)
        self.assertEqual([paths[i] for i in (0, 4, 5, 8)], ['/near/down/f', '/near/up/f', '/near/up', '/exp/i'])
        self.assertEqual({row[0]: row[3] for row in self.rows(self.path())}['/near/up/f'], 3)

    def test_new_name_was_cut_off(self):
        nfs = self.nfs
        nfs.compound(putfh(4), SAVE, putfh(3), rename(b'none', b'target'))    # of a file that is not known
        nfs.compound(putfh(3), SAVE, putfh(4), rename(b'h', b'target'))
        PerFile.cut(nfs, b'target')
        nfs.compound(putfh(5), READ)
        nfs.compound(putfh(4), READ)
        self.assertEqual(self.paths(2), [None, '/exp/dir/sub'])

    def test_saved_directory_is_not_known(self):
        """What is renamed below too long a path is no file of that name where the path is known to."""
        long = (look(255 * b'x'), look(b'y'))
        self.nfs.compound(putfh(3), *long, SAVE, putfh(3), rename(b'h', b'i'))
        self.nfs.compound(putfh(5), READ)
        self.assertEqual(self.paths(1), ['/exp/dir/h'])


if __name__ == '__main__':
    unittest.main()
