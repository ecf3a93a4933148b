# SPDX-License-Identifier: BSD-2-Clause
"""rpcrdma export: the tables against what the other commands print of the same captures, keys that hold however a
capture is read, and each question of docs/sql.md."""
import collections
import csv
import io
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time
import unittest

from command import CAPTURES, RPCRDMA, CommandTest, capture, pcap

DOC = os.path.join(CAPTURES, '..', 'docs', 'sql.md')
NAMES = ('roce-nfs3-mini', 'roce-nfs41-mini', 'roce-nfs41-callback', 'roce-long-call', 'iwarp-nfs41-mini')
TABLES = ('captures', 'connections', 'paths', 'rpcs', 'operations', 'messages', 'segments', 'transport_events',
          'credit_points', 'findings')
MASK = (1 << 64) - 1


def siphash(words):
    """SipHash-2-4 with the key 0, as its paper has it, of little-endian words."""
    v = [0x736f6d6570736575, 0x646f72616e646f6d, 0x6c7967656e657261, 0x7465646279746573]

    def rotate(x, by):
        return (x << by | x >> (64 - by)) & MASK

    def rounds(n):
        for _ in range(n):
            v[0] = (v[0] + v[1]) & MASK
            v[2] = (v[2] + v[3]) & MASK
            v[1] = rotate(v[1], 13) ^ v[0]
            v[3] = rotate(v[3], 16) ^ v[2]
            v[0] = rotate(v[0], 32)
            v[2] = (v[2] + v[1]) & MASK
            v[0] = (v[0] + v[3]) & MASK
            v[1] = rotate(v[1], 17) ^ v[2]
            v[3] = rotate(v[3], 21) ^ v[0]
            v[2] = rotate(v[2], 32)

    for word in (*words, len(words) * 8 << 56 & MASK):
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xff
    rounds(4)
    value = v[0] ^ v[1] ^ v[2] ^ v[3]
    return value - (1 << 64) if value >> 63 else value


def children(pid):
    found = []
    for name in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{name}/stat', encoding='utf-8', errors='replace') as file:
                if file.read().rpartition(')')[2].split()[1] == str(pid):
                    found.append(int(name))
        except OSError:  # it has ended
            pass
    return found


class Export(CommandTest):
    def database(self, *files, name='out.db', **more):
        path = os.path.join(self.folder, name)
        self.run_command('export', '--sqlite', path, *files, **more)
        self.assertEqual([one for one in os.listdir(self.folder) if one.startswith(name) and one != name], [])
        database = sqlite3.connect(path)
        self.addCleanup(database.close)
        database.row_factory = sqlite3.Row
        self.assertEqual(database.execute('PRAGMA integrity_check').fetchone()[0], 'ok')
        return database

    def json(self, *arguments):
        return [json.loads(line) for line in self.run_command(*arguments).splitlines()]

    def ids(self, database):
        return {table: sorted(row[0] for row in database.execute(f'SELECT id FROM {table}'))
                for table in TABLES if table != 'captures'}


class Rows(Export):
    def test_rpcs(self):
        """As `rpcs --json` has them."""
        for name in NAMES:
            rows = {row['call_frame'] or row['reply_frame']: row
                    for row in self.database(capture(name), name=name).execute('SELECT * FROM rpcs')}
            lines = self.json('rpcs', '--json', capture(name))
            self.assertEqual(len(rows), len(lines))
            for line in lines:
                row = rows[line.get('call_frame', line.get('reply_frame'))]
                self.assertEqual(f'0x{row["xid"]:08x}', line['xid'])
                for key in ('latency_ns', 'call_time_ns', 'reply_time_ns', 'name', 'path', 'call_length', 'reply_length',
                            'segments', 'filehandle', 'user', 'count', 'file_offset', 'stalled_ns', 'stalled_by',
                            'credits_granted', 'client', 'server', 'program', 'write_chunk_length'):
                    self.assertEqual(row[key], line.get(key, 0 if key.endswith('_length') and 'chunk' in key else None),
                                     (name, line['xid'], key))
                self.assertEqual(row['reverse'], line['direction'] == 'reverse')
                phases = line.get('phases', {})
                for key in ('call_ns', 'server_ns', 'data_ns', 'reply_ns'):
                    self.assertEqual(row[key] or 0, phases.get(key, 0), (name, line['xid'], key))
                if isinstance(line.get('status'), str):
                    self.assertEqual(row['status_name'], line['status'])

    def test_messages(self):
        """As `decode --json` has them, with each segment of each list."""
        for name in NAMES:
            database = self.database(capture(name), name=name)
            rows = {row['frame']: row for row in database.execute('SELECT * FROM messages')}
            segments = collections.defaultdict(list)
            for row in database.execute('SELECT * FROM segments ORDER BY list, chunk, segment'):
                segments[row['message_id'], row['list']].append((row['handle'], row['length'], row['offset']))
            lines = [one for one in self.json('decode', '--json', capture(name)) if 'type' in one]
            self.assertEqual(len(rows), len(lines))
            for line in lines:
                row = rows[line['frame']]
                self.assertEqual((row['type'], row['credits'], row['time_ns'], row['sender']),
                                 (line['type'], line['credits'], line['time_ns'], line['sender']))
                write = [one for chunk in line.get('write', []) for one in chunk]
                for key, want in (('read', line.get('read', [])), ('write', write), ('reply', line.get('reply') or [])):
                    self.assertEqual(segments.pop((row['id'], key), []),
                                     [(int(one['handle'], 16), one['length'], one['offset']) for one in want])
            self.assertEqual(segments, {})

    def test_findings(self):
        """Those of RPCs as `rpcs` has them, all others as `check` has them."""
        columns = 'rule, severity, frame, text'
        for name in NAMES:
            database = self.database(capture(name), name=name)
            of_rpcs, others = (collections.Counter(tuple(row) for row in database.execute(
                f'SELECT {columns} FROM findings WHERE rpc_id IS {what} NULL')) for what in ('NOT', ''))
            want = collections.Counter()
            for one in self.json('rpcs', '--json', capture(name)):
                frame = one.get('call_frame', one.get('reply_frame'))
                for finding in one.get('findings', []):
                    want[finding['rule'], finding['severity'], finding.get('frame', frame), finding['text']] += 1
            self.assertEqual(of_rpcs, want)
            for one in self.json('check', '--json', '--fail-on', 'never', capture(name)):
                for finding in one.get('findings', []):
                    key = (finding['rule'], finding['severity'], finding.get('frame', one.get('frame')), finding['text'])
                    self.assertGreater(others[key] + of_rpcs[key], 0, key)
                    others[key] -= 1
            self.assertLessEqual(max(others.values(), default=0), 0)

    def test_connections(self):
        for name in NAMES:
            database = self.database(capture(name), name=name)
            rows = list(database.execute('SELECT * FROM connections ORDER BY first_time_ns, rowid'))
            lines = self.json('connections', '--json', capture(name))
            self.assertEqual(len(rows), len(lines))
            for row, line in zip(rows, sorted(lines, key=lambda one: one['time_ns'])):
                for key in ('carrier', 'client', 'server', 'version', 'messages', 'path_mtu', 'client_port', 'outstanding'):
                    self.assertEqual(row[key], line.get(key), key)
                self.assertEqual(row['set_up'], 1)
                paths = {one['towards']: one for one in database.execute(
                    'SELECT * FROM paths WHERE connection_id = ?', (row['id'],))}
                for path in line.get('paths', []):
                    for key in ('packets', 'bytes', 'retransmitted', 'lost'):
                        self.assertEqual(paths[path['to']][key], path.get(key, 0))

    def test_transport(self):
        """Naks and retransmissions are those that `connections` counts; the time at the limit is that of `credits`."""
        for file in ('loss-egress', 'credits-8'):
            path = os.path.join(CAPTURES, 'sliced', f'{file}.pcapng.zst')
            database = self.database(path, name=file)
            paths = [one for line in self.json('connections', '--json', path) for one in line['paths']]
            for event, count in (('nak', lambda one: sum(one.get('naks', {}).values())),
                                 ('retransmission', lambda one: one.get('retransmitted', 0))):
                rows = database.execute('SELECT count(*) FROM transport_events WHERE event = ?', (event,)).fetchone()[0]
                self.assertEqual(rows, sum(count(one) for one in paths), (file, event))
            want = [direction['at_limit_ns'] for line in self.json('credits', '--json', path)
                    for connection in line['connections'] for direction in connection['directions']]
            rows = [row[0] for row in database.execute(
                'SELECT sum(at_limit_ns) FROM credit_limits GROUP BY connection_id, requester')]
            self.assertEqual(sorted(rows), sorted(want), file)
        self.assertGreater(sum(rows), 0)

    def test_forms(self):
        """NDJSON and CSV hold what the database does."""
        path = capture('roce-nfs41-mini')
        database = self.database(path)
        objects = collections.defaultdict(list)
        for one in self.json('export', '--ndjson', '-', path):
            objects[one.pop('table')].append(one)
        folders = {}
        for form in ('csv', 'ndjson'):
            folders[form] = os.path.join(self.folder, form)
            self.run_command('export', f'--{form}', folders[form], path)
        for table in TABLES:
            names = [row[1] for row in database.execute(f'PRAGMA table_info({table})')]
            rows = [{name: row[name] for name in names if row[name] is not None and name != 'part_of'}
                    for row in database.execute(f'SELECT * FROM {table}')]
            with open(os.path.join(folders['ndjson'], f'{table}.ndjson'), encoding='utf-8') as file:
                text = [json.loads(line) for line in file]
            self.assertEqual(text, objects[table])
            for one in text:
                for key, value in one.items():
                    if key in ('id', 'path') and table != 'rpcs' or key == 'id' or key.endswith('_id'):
                        value = int(value, 16)
                        one[key] = value - (value >> 63 << 64)
            self.assertEqual(text, rows, table)
            with open(os.path.join(folders['csv'], f'{table}.csv'), encoding='utf-8', newline='') as file:
                found = [{key: value for key, value in one.items() if value != ''} for one in csv.DictReader(file)]
            self.assertEqual(found, [{key: str(value) for key, value in row.items() if value != ''} for row in rows])
        one = self.run_command('export', '--csv', '-', '--tables', 'rpcs', path)
        with open(os.path.join(folders['csv'], 'rpcs.csv'), encoding='utf-8', newline='') as file:
            self.assertEqual(list(csv.reader(io.StringIO(one))), list(csv.reader(file)))

    def test_shown(self):
        """Names as all commands show them, but in JSON, which has its own way."""
        bad = os.path.join(self.folder, 'a\x1b[2J\n\u202e,"b')
        os.symlink(os.path.abspath(capture()), bad)
        want = os.path.join(self.folder, 'a\\x1b[2J\\x0a\\xe2\\x80\\xae,"b')
        text = self.run_command('export', '--csv', '-', '--tables', 'captures', bad)
        self.assertEqual([one['name'] for one in csv.DictReader(io.StringIO(text))], [want])
        self.assertEqual(self.database(bad).execute('SELECT name FROM captures').fetchone()[0], want)
        self.assertEqual(self.json('export', '--ndjson', '-', '--tables', 'captures', bad)[0]['name'], bad)

    def test_formulas(self):
        """What a spreadsheet would run is shown in CSV, as what a terminal would obey is; the other forms have it as it is."""
        folder, source = os.getcwd(), os.path.abspath(capture())
        self.addCleanup(os.chdir, folder)
        os.chdir(self.folder)
        names = {'=cmd|A1.pcap': '\\x3dcmd|A1.pcap', '+1.pcap': '\\x2b1.pcap', '@SUM(1).pcap': '\\x40SUM(1).pcap',
                 '--1.pcap': '\\x2d-1.pcap', ' =1.pcap': ' \\x3d1.pcap', '"=1.pcap': '"\\x3d1.pcap',
                 'a;=1.pcap': 'a;\\x3d1.pcap', 'a; "-1.pcap': 'a; "\\x2d1.pcap', '=,"': '\\x3d,"',
                 'a=b-1;c@.pcap': 'a=b-1;c@.pcap', '0-1': '0-1', 'a,b': 'a,b',
                 '\uff1d1': '\\xef\\xbc\\x9d1', 'a;\uff201': 'a;\\xef\\xbc\\xa01', 'a\uff1d\uff0c': 'a\uff1d\uff0c'}
        for name, want in names.items():
            os.symlink(source, name)
            text = self.run_command('export', '--csv', '-', '--tables', 'captures', '--', name)
            self.assertEqual([one['name'] for one in csv.DictReader(io.StringIO(text))], [want])
            self.assertEqual(self.json('export', '--ndjson', '-', '--tables', 'captures', '--', name)[0]['name'], name)
            database = self.database('--', name, name=f'{len(os.listdir())}.db')
            self.assertEqual(database.execute('SELECT name FROM captures').fetchone()[0], name)

    def test_signs(self):
        """A number below 0 is one in CSV, too, and standard input is called -."""
        with open(capture(), 'rb') as file:
            text = self.run_command('export', '--csv', '-', '--tables', 'captures', '-', stdin=file.read())
        self.assertEqual([one['name'] for one in csv.DictReader(io.StringIO(text))], ['-'])
        text = self.run_command('export', '--csv', '-', '--tables', 'operations', capture('roce-nfs41-mini'))
        self.assertRegex(text, r'(?m)^-[0-9]+,')

    def test_compressed(self):
        if not shutil.which('zstd'):
            self.skipTest('there is no zstd')
        path, folders = capture('roce-nfs3-mini'), []
        for more in ((), ('--zstd',)):
            folders.append(os.path.join(self.folder, str(len(folders))))
            self.run_command('export', '--csv', folders[-1], *more, path)
        for table in TABLES:
            with open(os.path.join(folders[0], f'{table}.csv'), 'rb') as file:
                plain = file.read()
            run = subprocess.run(['zstd', '-dc', os.path.join(folders[1], f'{table}.csv.zst')], capture_output=True, check=True)
            self.assertEqual(run.stdout, plain)


class Keys(Export):
    def pieces(self, name, every=100):
        """The capture as files of `every` packets."""
        packets, paths = self.packets(name), []
        for at in range(0, len(packets), every):
            paths.append(os.path.join(self.folder, f'{name}{at:06}.pcap'))
            pcap.write(paths[-1], packets[at:at + every])
        return paths

    def test_again(self):
        """Exported twice: nothing is added, and it is said, unless by -q."""
        path = capture('roce-nfs3-mini')
        first = self.ids(self.database(path))
        second = self.ids(self.database(path, errors=1))
        self.assertEqual(first, second)
        self.assertIn('were there already', self.stderr)
        self.assertEqual(self.ids(self.database('-q', path)), first)  # stderr is empty
        doubled = os.path.join(self.folder, 'doubled.pcap')
        pcap.write(doubled, self.packets() * 2)
        twice = self.database(doubled, name='twice.db', errors=2)
        self.assertIn('had the key of another', self.stderr)
        last = twice.execute('SELECT max(frame) FROM transport_events').fetchone()[0]
        self.assertLessEqual(last, len(self.packets()))  # the first of two is kept
        said = re.search(r'([1-9]\d*) rows? had the key', self.stderr)[1]
        ask = 'SELECT group_concat(coalesce(same_key, "?")) FROM (SELECT same_key FROM captures ORDER BY same_key)'
        for name in ('twice.db', 'quiet.db', 'quiet.db'):  # the third time all is there already
            self.assertEqual(self.database('-q', doubled, name=name).execute(ask).fetchone()[0], said)
        self.database(capture('roce-nfs41-mini'), name='beside.db')
        self.assertEqual(self.database(doubled, name='beside.db', errors=2).execute(ask).fetchone()[0], '?,' + said)
        self.assertIn(f': {said} rows had the key of another', self.stderr)
        for ids in first.values():
            self.assertEqual(len(ids), len(set(ids)))

    def test_pieces(self):
        """Pieces of a capture, read together, in the order given or another, are the whole."""
        for name in ('roce-nfs3-mini', 'iwarp-nfs41-mini'):
            pieces = self.pieces(name)
            want = self.ids(self.database(capture(name), name=name + '.db'))
            self.assertEqual(self.ids(self.database(*pieces, name=name + '1.db')), want)
            self.assertEqual(self.ids(self.database(*reversed(pieces), name=name + '2.db')), want)

    def test_one_by_one(self):
        """Pieces one by one: RPCs that no seam cuts have the whole's keys, and connections lead to the whole's."""
        name = 'roce-nfs3-mini'
        whole = self.database(capture(name), name='whole.db')
        want = {row['id'] for row in whole.execute('SELECT id FROM rpcs')}
        for piece in self.pieces(name, 120)[:-1]:  # none ends within a set-up; the last has no RPC
            database = self.database(piece)
        rows = list(database.execute('SELECT * FROM rpcs'))
        answered = {row['id'] for row in rows if row['answered'] and row['call_time_ns']}
        self.assertLessEqual(answered, want)
        self.assertGreater(len(answered), len(want) * 0.9)
        self.assertEqual({row[0] for row in database.execute('SELECT coalesce(part_of, id) FROM connections')},
                         {row[0] for row in whole.execute('SELECT id FROM connections')})

    def test_neighbours(self):
        names = 'roce-nfs3-mini', 'roce-nfs41-mini'
        alone = [self.ids(self.database(capture(name), name=name)) for name in names]
        both = self.ids(self.database(*(capture(name) for name in names), name='both'))
        for table, ids in both.items():
            self.assertEqual(ids, sorted(alone[0][table] + alone[1][table]), table)

    def test_as_documented(self):
        """docs/sql.md says of what a key is made."""
        rows = self.database(capture('roce-nfs3-mini'))
        events = self.json('decode', '--cm', '--json', capture('roce-nfs3-mini'))
        starts = {one['time_ns']: one['start_psn'] for one in events if one.get('event') == 'REQ'}
        for row in rows.execute('SELECT * FROM connections'):
            words = [0]
            for address, qpn in sorted(((tuple(int(x) for x in row[end].split('.')), row[end + '_qpn'])
                                        for end in ('client', 'server'))):
                words += [1, int.from_bytes(bytes(address), 'little'), 0, qpn]
            path = siphash(words)
            self.assertEqual(row['path'], path)
            self.assertEqual(row['id'], siphash([path & MASK, starts[row['first_time_ns']]]))
            for rpc in rows.execute('SELECT * FROM rpcs WHERE connection_id = ?', (row['id'],)):
                self.assertEqual(rpc['id'], siphash([path & MASK, 2 * rpc['xid'] + 1, rpc['call_time_ns']]))

    def test_pipes(self):
        """A named pipe is opened once; what came is in the database before the pipe ends."""
        with open(capture('roce-nfs3-mini'), 'rb') as file:
            whole = file.read()
        fifo, path = os.path.join(self.folder, 'fifo'), os.path.join(self.folder, 'out.db')
        os.mkfifo(fifo)
        with subprocess.Popen([RPCRDMA, 'export', '--sqlite', path, fifo], stderr=subprocess.PIPE) as run:
            with open(fifo, 'wb') as feed:
                feed.write(whole[:len(whole) // 2])
                feed.flush()
                time.sleep(1.5)  # a commit is due after a second, with the next packet
                feed.write(whole[len(whole) // 2:len(whole) // 2 + 2000])
                feed.flush()
                deadline = time.monotonic() + 60
                while not self.rpcs_in(path) and time.monotonic() < deadline:
                    time.sleep(0.1)
                self.assertGreater(self.rpcs_in(path), 0)
                feed.write(whole[len(whole) // 2 + 2000:])
            self.assertEqual((run.stderr.read(), run.wait(60)), (b'', 0))
        want = self.ids(self.database(capture('roce-nfs3-mini'), name='other.db'))
        with sqlite3.connect(path) as database:
            self.assertEqual(self.ids(database), want)
        database.close()

    def rpcs_in(self, path):
        """Of a copy: the database is locked while it is written."""
        if not os.path.exists(path):
            return 0
        with open(path, 'rb') as file:
            copy = self.file(file.read(), 'copy.db')
        try:
            with sqlite3.connect(copy) as database:
                return database.execute('SELECT count(*) FROM rpcs').fetchone()[0]
        except sqlite3.DatabaseError:  # written to meanwhile
            return 0

    def test_killed(self):
        """The database is whole, says how far it is, and goes on."""
        with open(capture('roce-nfs3-mini'), 'rb') as file:
            whole = file.read()
        path = os.path.join(self.folder, 'out.db')
        reader, writer = os.pipe()
        with open(writer, 'wb') as feed:
            run = subprocess.Popen([RPCRDMA, 'export', '--sqlite', path, '-'], stdin=reader, stderr=subprocess.PIPE)
            feed.write(whole[:len(whole) // 2])
            feed.flush()
            deadline = time.monotonic() + 60
            while not os.path.exists(path) and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(0.2)
            for child in children(run.pid):
                os.kill(child, signal.SIGKILL)
            errors = run.communicate(timeout=60)[1].decode()
        os.close(reader)
        self.assertEqual(run.returncode, 2)
        self.assertIn(f'signal {signal.SIGKILL:d}', errors)
        run = subprocess.run([RPCRDMA, 'export', '--sqlite', path, capture('roce-nfs3-mini')], capture_output=True,
                             check=True)  # how much was there already depends on when it was killed
        database = sqlite3.connect(path)
        self.addCleanup(database.close)
        self.assertEqual(self.ids(database), self.ids(self.database(capture('roce-nfs3-mini'), name='other.db')))

    def test_refused(self):
        other = self.file(b'no database at all, but a text', 'text.db')
        self.run_command('export', '--sqlite', other, capture(), status=2)
        foreign = os.path.join(self.folder, 'foreign.db')
        with sqlite3.connect(foreign) as database:
            database.execute('CREATE TABLE mine(x)')
        self.run_command('export', '--sqlite', foreign, capture(), status=2)
        self.assertIn('not a database of rpcrdma export', self.stderr)
        os.symlink(foreign, os.path.join(self.folder, 'link.db'))
        self.run_command('export', '--sqlite', os.path.join(self.folder, 'link.db'), capture(), status=2)
        self.assertIn('a symbolic link', self.stderr)
        os.mkfifo(os.path.join(self.folder, 'pipe.db'))
        for other in (self.folder, os.path.join(self.folder, 'pipe.db'), '/dev/null', '/dev/full'):
            if os.path.exists(other):
                self.run_command('export', '--sqlite', other, capture(), status=2)
                self.assertIn(f'{other}: it is no regular file', self.stderr)
                self.assertFalse(os.path.exists(other + '-journal'))
        self.run_command('export', capture(), status=2)
        self.run_command('export', '--csv', '-', capture(), status=2)
        for tables in ('nothing', '', 'rpcs,'):
            self.run_command('export', '--csv', '-', '--tables', tables, capture(), status=2)


class Schema(Export):
    def test_fields(self):
        """Each column is described; what it says to have of `rpcrdma fields` is there."""
        fields = {line.split()[0] for line in self.run_command('fields').splitlines()}
        columns = self.json('export', '--schema')
        for one in columns:
            self.assertTrue(one['help'], one)
            if 'field' in one:
                self.assertIn(one['field'], fields)
        self.assertEqual(self.json('export', '--schema', '--tables', 'paths,rpcs'),
                         [one for one in columns if one['table'] in ('paths', 'rpcs')])
        self.run_command('export', '--schema', '--tables', 'nosuch', status=2, errors=1)
        self.assertIn('--tables: there is no table "nosuch"', self.stderr)
        changed, = (one for one in columns if (one['table'], one['column']) == ('credit_points', 'time_ns'))
        self.assertEqual((changed['help'], 'field' in changed), ('When it changed', False))
        database = self.database(capture('roce-nfs3-mini'))
        for table in TABLES:
            self.assertEqual([row[1] for row in database.execute(f'PRAGMA table_info({table})')],
                             [one['column'] for one in columns if one['table'] == table])

    def test_work(self):
        """Connections without set-up are found their whole by an index, however many there are."""
        with open(os.path.join(CAPTURES, '..', 'cli', 'export', 'schema.sql'), encoding='utf-8') as file:
            update = re.search(r'^UPDATE connections.*?;', file.read(), re.M | re.S)[0]
        plan = ' '.join(row[3] for row in self.database(capture()).execute('EXPLAIN QUERY PLAN ' + update))
        self.assertRegex(plan, 'SEARCH whole USING (COVERING )?INDEX connections_path')
        self.assertNotIn('SCAN whole', plan)

    def test_whole_comes_late(self):
        """Whatever the order of exports, a piece belongs to the latest whole that began before it."""
        database = self.database(capture())
        path, start = database.execute('SELECT path, first_time_ns FROM connections').fetchone()
        row = 'INSERT INTO connections (id, path, set_up, first_time_ns) VALUES (?, ?, ?, ?)'
        with database:
            database.execute(row, (1, path, 0, start + 1000))
        for whole in (None, (2, path, 1, start + 500), (3, path, 1, start + 1500)):
            if whole:
                with database:
                    database.execute(row, whole)
            self.run_command('export', '--sqlite', os.path.join(self.folder, 'out.db'), capture(), errors=1)
            found = database.execute('SELECT part_of FROM connections WHERE id = 1').fetchone()[0]
            self.assertNotIn(found, (None, 3))
            self.assertEqual(found == 2, whole is not None)

    def test_linked_folder(self):
        """A link among the folders is the user's; the file itself may be none."""
        os.mkdir(os.path.join(self.folder, 'real'))
        os.symlink('real', os.path.join(self.folder, 'link'))
        self.database(capture(), name=os.path.join('link', 'out.db'))

    def test_questions(self):
        with open(DOC, encoding='utf-8') as file:
            text = file.read()
        sources = re.findall(r'^    \$ rpcrdma export --sqlite out.db (\S+)$', text.split('## Twenty questions')[1], re.M)
        self.assertEqual(len(sources), 3)
        os.chdir(os.path.join(CAPTURES, '..'))
        for source in sources:
            database = self.database(source)
        questions = re.findall(r'^### \d+\. (.*?)\n\n```sql\n(.*?)```\n\n```\n(.*?)```', text, re.M | re.S)
        self.assertEqual(len(questions), 20)
        for title, query, want in questions:
            cursor = database.execute(query)
            rows = [[one[0] for one in cursor.description], *cursor]
            found = '\n'.join('|'.join('' if value is None else str(value) for value in row) for row in rows) + '\n'
            self.assertEqual(found, want, title)


if __name__ == '__main__':
    unittest.main()
