# SPDX-License-Identifier: BSD-2-Clause
"""rpcrdma export --sqlite into a database that has a part of the capture already: in the end it is as if the
whole had been exported at once, and what others put there stays."""
import gzip
import os
import random
import re
import signal
import sqlite3
import subprocess
import time

from command import CAPTURES, RPCRDMA, CommandTest, capture, enhanced, interface, main, option, section
import pcap

TABLES = ('captures', 'connections', 'paths', 'rpcs', 'operations', 'messages', 'segments', 'transport_events',
          'credit_points', 'findings')
NAMES = ('roce-nfs3-mini', 'iwarp-nfs41-mini', 'roce-nfs41-callback')


def child(pid):
    with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
        found = file.read().split()
    return int(found[0]) if found else None


class Again(CommandTest):
    made = {}

    def setUp(self):
        super().setUp()
        self.random = random.Random(1)  # the same each time

    def path(self, name):
        return os.path.join(self.folder, name)

    def export(self, name, *arguments, **more):
        self.run_command('export', '-q', '--sqlite', self.path(name), *arguments, **more)

    def told(self, name, *arguments, stdin=None):
        """What it says, whatever its status."""
        run = subprocess.run([RPCRDMA, 'export', '--sqlite', self.path(name), *arguments], input=stdin, check=False,
                             stderr=subprocess.PIPE)
        return run.stderr.decode()

    @staticmethod
    def content(path):
        with open(path, 'rb') as file:
            return file.read()

    def rows(self, name):
        with sqlite3.connect(self.path(name)) as database:
            rows = {table: sorted(database.execute(f'SELECT * FROM {table}').fetchall(), key=repr)
                    for table in TABLES}
        database.close()
        return rows

    def keys(self, name):
        return {(table, row[0]) for table, rows in self.rows(name).items() for row in rows}

    def fresh(self, *arguments):
        """What one export makes; of a recording it is made once."""
        if arguments in self.made:
            return self.made[arguments]
        fresh = self.path('fresh.db')
        if os.path.exists(fresh):
            os.remove(fresh)
        self.export('fresh.db', *arguments)
        rows = self.rows('fresh.db')
        if all(one.startswith(CAPTURES) for one in arguments):
            self.made[arguments] = rows
        return rows

    def assert_as(self, name, *arguments, what=None):
        got, want = self.rows(name), self.fresh(*arguments)
        for table in TABLES:
            self.assertEqual(got[table], want[table], (table, arguments, what))

    def some(self, n, least=1):
        """Numbers below n, one of them small."""
        return [self.random.randrange(least, n) for _ in range(3)] + [least]

    def test_counted(self):
        for name in NAMES:
            for n in self.some(len(self.packets(name))):
                database = f'{name}{n}.db'
                self.export(database, '-c', str(n), capture(name))
                self.assertEqual([row[-2] for row in self.rows(database)['captures']], [0])
                self.export(database, capture(name))
                self.assert_as(database, capture(name), what=n)

    def test_less_far(self):
        """An export that stops earlier than one before it changes nothing, of a whole capture neither."""
        path, n = capture(), len(self.packets())
        for database, first in (('part.db', ('-c', str(n * 2 // 3))), ('whole.db', ())):
            self.export(database, *first, path)
            before = self.rows(database)
            for fewer in (1, n // 2):
                self.export(database, '-c', str(fewer), path)
                self.assertEqual(self.rows(database), before)
            self.run_command('export', '--sqlite', self.path(database), '-c', '9', path, errors=2)
            self.assertIn('more of this capture is in it already', self.stderr)
            self.export(database, path)
            self.assert_as(database, path)

    def test_grown(self):
        """A file that was cut, anywhere, or not yet as long, and is whole now: the key of its row is another."""
        for name in NAMES:
            with open(capture(name), 'rb') as file:
                whole = file.read()
            database = name + '.db'
            for at in sorted(self.some(len(whole), 200)):
                path = self.file(whole[:at], 'grows.pcap')
                subprocess.run([RPCRDMA, 'export', '-q', '--sqlite', self.path(database), path], check=False,
                               stderr=subprocess.DEVNULL)
            self.file(whole, 'grows.pcap')
            self.export(database, path)
            self.assert_as(database, path)

    def test_grown_elsewhere(self):
        """One that has grown and has another path, or name: it is known by what it begins with, and its last packet."""
        for name in NAMES:
            with open(capture(name), 'rb') as file:
                whole = file.read()
            for n, at in enumerate(sorted(self.some(len(whole), 4096))):
                part, database = self.file(whole[:at], 'part.pcap'), f'{name}{n}.db'
                subprocess.run([RPCRDMA, 'export', '-q', '--sqlite', self.path(database), os.path.relpath(part)],
                               check=False, stderr=subprocess.DEVNULL)
                path = self.file(whole, ('part.pcap', 'whole.pcap')[n % 2])
                self.export(database, '-c', '20', path)  # not that far: another's, as far as anybody knows
                self.export(database, path)
                self.assert_as(database, path, what=at)

    def test_both_open(self):
        """Of two exports that are not known to be of one capture, and left the same open, another goes on from both."""
        packets, both, whole = self.packets(), 0, self.path('whole.pcap')
        pcap.write(whole, packets)
        for n in range(150, 200, 5):
            part, database = self.path('part.pcap'), f'{n}.db'
            pcap.write(part, packets[:n])
            self.export(database, part)
            self.export('fewer.db', '-c', str(n - 1), whole)
            both += len({key for key in self.keys(database) & self.keys('fewer.db') if key[0] == 'findings'})
            os.remove(self.path('fewer.db'))
            self.export(database, '-c', str(n - 1), whole)
            self.export(database, whole)
            self.assert_as(database, whole, what=n)
        self.assertGreater(both, 0)

    def test_alike(self):
        """What begins alike for 32 KiB, and is of other packets, is another capture, under any name; it may even
        have as many packets at other times, or of another client at the same times."""
        long = section() + interface(options=option(9, b'\x09') + option(1, b'x' * 40000) + option(0, b''))
        blocks = [enhanced(one.data, one.time_ns) for one in self.packets()]
        later = [enhanced(one.data, one.time_ns + 1) for one in self.packets()]
        parted = [enhanced(one.data[:26] + bytes([10, 9, 9, 1]) + one.data[30:], one.time_ns) for one in self.packets()]
        part = long + b''.join(blocks[:120])
        others = {'shifted': long + b''.join(later),
                  'parted': long + b''.join(blocks[:60] + parted[60:]),
                  'other': long + b''.join(enhanced(one.data, one.time_ns) for one in self.packets('iwarp-nfs41-mini'))}
        for name, data in others.items():
            for at in ('part.pcapng', 'other.pcapng'):
                database = name + at + '.db'
                self.export(database, self.file(part, 'part.pcapng'))
                keys = self.keys(database)
                path = self.file(data, at)
                self.export(database, '-c', '100', path)
                self.export(database, path)
                self.assertLessEqual(keys, self.keys(database), (name, at))
                self.export('new.db', path)
                self.assertLessEqual(self.keys('new.db'), self.keys(database), (name, at))
                os.remove(self.path('new.db'))
        self.export('out.db', self.file(part, 'part.pcapng'))
        path = self.file(long + b''.join(blocks), 'whole.pcapng')
        self.export('out.db', path)
        self.assert_as('out.db', path)

    def test_stale(self):
        """Where it does not go on from an earlier export, whose rows are not what this one would have, that is said."""
        with open(capture(), 'rb') as file:
            whole = file.read()
        part, head = self.file(whole[:60000], 'part.pcap'), self.file(whole[:64395], 'head.pcap')
        named = self.file(whole, 'named.pcap')
        options, left = 'with other options is in it', 'left rows as they were at its end'
        for database, first, then, said in (
                ('options.db', ('-c', '150', capture()), ('--check-icrc', capture()), options),
                ('grown.db', (part,), ('--check-icrc', named), options),  # known by its packets alone
                # the second has packets from before the end of the part
                ('beside.db', (head,), (named, capture('roce-long-call')), left)):
            self.run_command('export', '-q', '--sqlite', self.path(database), *first, status=2 * ('-c' not in first))
            before = self.rows(database)
            self.run_command('export', '--sqlite', self.path(database), *then, errors=2)
            self.assertIn(said, self.stderr)
            for table in set(TABLES) - {'captures'}:
                self.assertLessEqual(set(before[table]), set(self.rows(database)[table]), (database, table))

    def test_stale_told(self):
        """How many rows: of those that both have, also where nothing was open, and of those that the new one lacks."""
        damaged = self.packets()
        for at, one in enumerate(damaged):
            if at % 10 == 0:  # a wrong ICRC: with --check-icrc that packet is none
                damaged[at] = one._replace(data=one.data[:-1] + bytes([one.data[-1] ^ 1]))
        path = self.path('damaged.pcap')
        pcap.write(path, damaged)
        self.export('out.db', path)
        before = self.rows('out.db')
        self.export('fresh.db', '--check-icrc', path)
        fresh = self.rows('fresh.db')
        self.run_command('export', '--sqlite', self.path('out.db'), '--check-icrc', path, errors=2)
        told = re.search('its rows stay: at least ([0-9]+) rows that this one has otherwise'
                         '(?: and at least ([0-9]+) rows? that this one does not have)?;', self.stderr)
        ours = {(table, row[0]): row for table in TABLES[1:] for row in fresh[table]}
        theirs = {(table, row[0]): row for table in TABLES[1:] for row in before[table]}
        self.assertEqual(int(told[1]), sum(theirs[key] != ours[key] for key in theirs.keys() & ours.keys()))
        self.assertGreater(int(told[1]), 10, fresh['rpcs'])
        self.assertLessEqual(int(told[2] or 0), len(theirs.keys() - ours.keys()))
        for table in TABLES[1:]:
            self.assertLessEqual(set(before[table]), set(self.rows('out.db')[table]), table)
        # what is left of one that the new one does not meet at all
        self.run_command('export', '--sqlite', self.path('out.db'), '-f', 'tcp', path, errors=2)
        self.assertRegex(self.stderr, 'stay: at least [1-9][0-9]* rows? that this one does not have')

    def test_pipe(self):
        """What comes through a pipe goes on, too; where it only begins alike, that it had other packets is said."""
        packets, other, further = self.packets(), 'had other packets', 'more of this capture is in it already'
        files = {'part': packets[:100], 'whole': packets, 'other': packets[:60] + packets[90:],
                 'less': packets[:60] + packets[90:110]}
        for name, one in files.items():
            pcap.write(self.path(name + '.pcap'), one)
        for name, said in (('part', ''), ('part', 'already'), ('whole', 'already'), ('whole', 'already'),
                           ('part', further), ('other', other), ('other', 'already'), ('less', further)):
            if name == 'other' and said == other:
                self.export('fresh.db', '-', stdin=self.content(self.path('whole.pcap')))
                self.assertEqual(self.rows('out.db'), self.rows('fresh.db'))
            told = self.told('out.db', '-', stdin=self.content(self.path(name + '.pcap')))
            self.assertIn(said, told, name)
            self.assertEqual(other in told, name == 'other', told)
            self.assertEqual(further in told, said == further, told)

    def test_beginning_later(self):
        """A beginning, in whatever file, of what was exported already adds nothing, and that is said."""
        for name in NAMES:
            whole, packets = self.content(capture(name)), self.packets(name)
            database = name + '.db'
            self.export(database, capture(name))
            before = self.rows(database)
            for n in (1, 2, *self.some(len(packets), 20), 60, len(packets) - 1, 255, 256, 257):
                if n >= len(packets):
                    continue
                pcap.write(self.path('part.pcap'), packets[:n])
                part = self.content(self.path('part.pcap'))
                for path in (self.path('part.pcap'), self.file(gzip.compress(part), 'part.pcap.gz')):
                    self.assertIn('more of this capture is in it already', self.told(database, path), n)
                    self.assertEqual(self.rows(database), before, (name, n))
            for at in self.some(len(whole), 4096):  # in the middle of a packet
                cut = self.file(whole[:at], 'cut.pcap')
                self.assertIn('more of this capture is in it already', self.told(database, cut), at)
                self.assertEqual(self.rows(database), before, (name, at))

    def test_again(self):
        """The same again is not behind itself, where its file cuts the last packet, too."""
        whole = self.content(capture())
        for at in (30000, 50000, 70001, len(whole)):
            path, database = self.file(whole[:at], 'part.pcap'), f'{at}.db'
            for again in (False, True):
                told = self.told(database, path)
                self.assertNotIn('more of this capture', told)
                self.assertEqual('there already' in told, again)
                if again:
                    self.assertEqual(self.rows(database), before)
                before = self.rows(database)

    def test_many(self):
        """However many exports are in a database, and connections without set-up: it is not looked at each with each."""
        self.export('out.db', '-c', '100', capture())
        with sqlite3.connect(self.path('out.db')) as database:
            one = database.execute('SELECT * FROM connections').fetchone()
            database.executemany(f'INSERT INTO connections VALUES ({", ".join("?" * len(one))})',
                                 ((n, n // 2, n % 2, *one[3:]) for n in range(1, 20000)))
        database.close()
        self.export('out.db', capture())
        with open(os.path.join(CAPTURES, '..', 'cli', 'export', 'schema.sql'), encoding='utf-8') as f:
            parts_of, = re.findall('^UPDATE connections SET part_of.*?;$', f.read(), re.M | re.S)
        with sqlite3.connect(self.path('out.db')) as database:
            self.assertEqual(database.execute('SELECT count(*) FROM connections WHERE part_of = id + 1').fetchone(), (9999,))
            for sql in ('SELECT export FROM exports WHERE first = 1', 'SELECT export FROM exports WHERE capture = 1',
                        'SELECT export FROM exports WHERE head = 1', 'SELECT max(export) FROM open_rows',
                        'SELECT count(*) FROM open_rows WHERE export = 1'):
                self.assertIn('SEARCH', str(database.execute('EXPLAIN QUERY PLAN ' + sql).fetchall()))
            plan = [row[3] for row in database.execute('EXPLAIN QUERY PLAN ' + parts_of)]
            self.assertEqual([step for step in plan if step.startswith('SCAN')], ['SCAN connections'])
            self.assertTrue([step for step in plan if step.startswith('SEARCH whole USING INDEX connections_path')], plan)
        database.close()

    def test_two_hosts(self):
        """A Call that two exports left without Reply, of which one has it in the end: the other may not take it out."""
        packets = self.packets()
        later = [one._replace(time_ns=one.time_ns + 10**12) for one in packets]
        without = 64  # the Reply to frame 63
        for name, one in (('a', packets[:without] + packets[without + 1:]), ('b', packets[:20] + packets[21:])):
            pcap.write(self.path(f'{name}-part.pcap'), one[:without - (name == 'b')])
            pcap.write(self.path(f'{name}-whole.pcap'), one + later)
        for name in ('a-part', 'b-part', 'a-whole', 'b-whole'):
            self.export('out.db', self.path(f'{name}.pcap'))
        for name in ('a-whole', 'b-whole'):
            self.export(f'{name}.db', self.path(f'{name}.pcap'))
            self.assertLessEqual(self.keys(f'{name}.db'), self.keys('out.db'), name)

    def test_same_packets(self):
        """The same packets in another file, compressed or of other parts: it goes on from what was exported of them."""
        packets = self.packets()
        with open(capture(), 'rb') as file:
            whole = file.read()
        compressed = self.file(gzip.compress(whole), 'whole.pcap.gz')
        for n, at in enumerate(sorted(self.some(len(whole), 4096))):
            database, part = f'{n}.db', self.file(whole[:at], 'part.pcap')
            subprocess.run([RPCRDMA, 'export', '-q', '--sqlite', self.path(database), part], check=False,
                           stderr=subprocess.DEVNULL)
            self.export(database, compressed)
            self.assert_as(database, compressed, what=at)
        parts = self.path('first.pcap'), self.path('second.pcap')
        pcap.write(parts[0], packets[:200])
        pcap.write(parts[1], packets[200:])
        self.export('out.db', *parts)
        self.run_command('export', '--sqlite', self.path('out.db'), compressed, errors=1)
        self.assertIn('were there already', self.stderr)
        names = [row[1] for row in self.rows('out.db')['captures']]
        self.assertEqual(sorted(names), sorted((*parts, compressed)))

    def test_last_packet(self):
        """Packets may be alike but for what is in the last one: that is another capture, unless its file cut it."""
        packets = self.packets()
        for n in range(140, 160):
            one, two, last = self.path('one.pcap'), self.path('two.pcap'), packets[n - 1]
            pcap.write(one, packets[:n])
            other = last._replace(data=last.data[:54] + bytes(len(last.data) - 54))
            pcap.write(two, [*packets[:n - 1], other, *packets[n:]])
            self.export(f'{n}.db', one)
            keys = self.keys(f'{n}.db')
            self.export(f'{n}.db', two)
            self.assertLessEqual(keys, self.keys(f'{n}.db'), n)

    def test_part(self):
        """Another file of the same packets, which ends earlier, is the beginning of this one; its row stays: it is one."""
        part = self.path('part.pcap')
        pcap.write(part, self.packets()[:100])
        self.export('out.db', part)
        self.export('out.db', '-c', '50', capture())
        self.export('out.db', capture())
        self.assertEqual(len(self.rows('out.db')['captures']), 2)
        with sqlite3.connect(self.path('out.db')) as database:
            database.execute('DELETE FROM captures WHERE name = ?', (part,))
        database.close()
        self.assert_as('out.db', capture())

    def test_ring(self):
        """Files of a ring, of which there are more each time, and of which the last one grows."""
        for name in NAMES[:2]:
            packets, paths = self.packets(name), []
            for at in range(0, len(packets), 90):
                paths.append(self.path(f'{name}{at:06}.pcap'))
                pcap.write(paths[-1], packets[at:at + 60])
                self.export(name + '.db', *paths)
                pcap.write(paths[-1], packets[at:at + 90])
            self.export(name + '.db', *paths)
            self.assert_as(name + '.db', *paths)

    def test_not_the_beginning(self):
        """Files from before, or between, those of an earlier export: what that made stays, and it is said."""
        packets, paths = self.packets(), []
        for at in range(0, len(packets), 100):
            paths.append(self.path(f'piece{at:06}.pcap'))
            pcap.write(paths[-1], packets[at:at + 100])
        for n, first in enumerate((paths[1:], [paths[0], *paths[2:]])):
            name = f'{n}.db'
            self.export(name, *first)
            before = self.rows(name)
            self.run_command('export', '--sqlite', self.path(name), *paths, errors=2)
            self.assertIn('was not of what they begin with', self.stderr)
            rows = self.rows(name)
            for table in TABLES:
                self.assertLessEqual({row[0] for row in before[table]}, {row[0] for row in rows[table]}, table)
            known = {row[0] for row in rows['connections']}
            self.assertLessEqual({row[1] for row in rows['messages']}, known)

    def test_others_stay(self):
        """What other captures brought stays, where they share connections, too, and in any order."""
        whole = {(table, row[0]) for table, rows in self.fresh(capture()).items() for row in rows}
        packets = self.packets()
        piece = self.path('piece.pcap')
        for at, n in ((1, 200), (100, 300)):
            pcap.write(piece, packets[at:at + n])
            for order in ('piece first', 'part first'):
                database = f'{at} {order}.db'
                for one in sorted((('piece first', [piece]), ('part first', ['-c', '200', capture()])),
                                  key=lambda one, order=order: one[0] != order):
                    self.export(database, *one[1])
                keys = self.keys(database)
                self.export(database, capture())
                self.export('piece.db', piece)
                self.assertLessEqual(self.keys('piece.db'), self.keys(database))
                self.assertLessEqual(whole, self.keys(database))
                for key in keys - self.keys(database):  # what only the part had
                    self.assertNotIn(key, self.keys('piece.db'))
                os.remove(self.path('piece.db'))

    def test_other_options(self):
        """Of other packets of the same file: they are added, and nothing is taken out."""
        self.export('out.db', '-f', 'udp', '-c', '150', capture())
        keys = self.keys('out.db')
        self.export('out.db', '-f', 'src host 192.168.77.11', capture())
        self.assertLessEqual(keys, self.keys('out.db'))

    def test_one_table(self):
        """A table alone has the rows that it has with the others, and these come in later."""
        for name in (*NAMES, 'roce-nfs42-mini'):
            self.export(name + '.db', capture(name))
            want = self.rows(name + '.db')
            for table in TABLES[1:]:
                database = f'{name}-{table}.db'
                self.export(database, '--tables', table, capture(name))
                self.assertEqual(self.rows(database)[table], want[table], table)
            self.export(f'{name}-connections.db', capture(name))
            self.assertEqual(self.rows(f'{name}-connections.db'), want)

    def test_tables(self):
        """Other tables than before: those that were not asked for stay open, and are made whole later."""
        self.export('out.db', '-c', '200', capture())
        before = self.rows('out.db')
        self.export('out.db', '--tables', 'captures,rpcs', capture())
        for table in set(TABLES) - {'captures', 'rpcs'}:
            self.assertEqual(self.rows('out.db')[table], before[table])
        self.export('out.db', capture())
        self.assert_as('out.db', capture())

    def killed(self, database, share):
        """An export of a pipe that ends without a word when so much of it was read."""
        with open(capture(), 'rb') as file:
            whole = file.read()
        reader, writer = os.pipe()
        with open(writer, 'wb') as feed:
            run = subprocess.Popen([RPCRDMA, 'export', '-q', '--sqlite', self.path(database), '-'], stdin=reader,
                                   stderr=subprocess.DEVNULL)
            os.close(reader)
            for at in range(4):
                feed.write(whole[int(len(whole) * share * at / 4):int(len(whole) * share * (at + 1) / 4)])
                feed.flush()
                time.sleep(0.5)
            while not child(run.pid):
                time.sleep(0.05)
            os.kill(child(run.pid), signal.SIGKILL)
            run.wait(timeout=60)

    def test_killed(self):
        """Killed while it goes on, before and behind where the one before it was: nothing gets less."""
        with open(capture(), 'rb') as file:
            whole = file.read()
        n = str(len(self.packets()) // 2)
        self.export('out.db', '-c', n, '-', stdin=whole)
        for share in (0.3, 0.9):
            keys = self.keys('out.db')
            self.killed('out.db', share)
            self.assertLessEqual(keys, self.keys('out.db'))
        self.export('out.db', '-', stdin=whole)
        got = self.rows('out.db')
        self.export('fresh.db', '-', stdin=whole)
        self.assertEqual(got, self.rows('fresh.db'))


main()
