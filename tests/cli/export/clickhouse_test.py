# SPDX-License-Identifier: BSD-2-Clause
"""Two ClickHouse servers of our own, on loopback: docs/clickhouse.md's lines load recordings twice, and the twenty
questions have SQLite's answers; also where a server is killed while rows come in."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import time

from command import CAPTURES, RPCRDMA, CommandTest, main
from columns_test import hours_at_limit
# pylint: disable=wrong-import-order
import rules

TOP = os.path.join(CAPTURES, '..')
FIRST = ('captures/sliced/loss-egress.pcapng.zst', 'captures/sliced/credits-8.pcapng.zst', # docs/sql.md's
         'captures/roce-nfs41-mini/capture.pcap')
MORE = ('captures/sliced/reconnect-cable.pcapng.zst', 'captures/iwarp-nfs41-mini/capture.pcap',
        'captures/roce-nfs41-callback/capture.pcap')
CONFIG = '''<yandex><logger><level>warning</level><log>{folder}/log</log><errorlog>{folder}/errors</errorlog></logger>
<listen_host>127.0.0.1</listen_host><tcp_port>{port}</tcp_port><path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path>
<users_config>{folder}/users.xml</users_config><default_profile>default</default_profile>
<default_database>default</default_database><mark_cache_size>67108864</mark_cache_size>
<remote_servers><fleet>{shards}</fleet></remote_servers></yandex>'''
SHARD = '<shard><replica><host>127.0.0.1</host><port>{}</port></replica></shard>'
USERS = '''<yandex><profiles><default/></profiles><quotas><default/></quotas><users><default><password/>
<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>'''
CLIENT = '#!/bin/sh\nexec {} --host 127.0.0.1 --port "$CLICKHOUSE" "$@"\n'
# Of INSERT: what has come so far is sent, and written, every so many rows.
SMALL_BLOCKS = ('--max_insert_block_size=50', '--min_insert_block_size_rows=50', '--min_insert_block_size_bytes=0')


def read(*path):
    with open(os.path.join(TOP, *path), encoding='utf-8') as file:
        return file.read()


class ClickHouse(CommandTest):
    def setUp(self):
        programs = [shutil.which(name, path=os.environ['PATH'] + ':/usr/sbin')
                    for name in ('clickhouse-server', 'clickhouse-client')]
        for name, path in zip(('clickhouse-server', 'clickhouse-client'), programs):
            if not path:
                self.skipTest(f'{name} is not installed (package {name})')
        super().setUp()
        self.program = programs[0]
        with contextlib.ExitStack() as stack: # free ones, all at once
            sockets = [stack.enter_context(socket.create_server(('127.0.0.1', 0))) for _ in range(2)]
            self.ports = [one.getsockname()[1] for one in sockets]
        self.servers = [None, None]
        for number, port in enumerate(self.ports):
            for part in ('data', 'tmp'):
                os.makedirs(self.of(number, part))
            self.file(USERS.encode(), f'{number}/users.xml')
            self.file(CONFIG.format(folder=self.of(number), port=port,
                                    shards=''.join(SHARD.format(one) for one in self.ports)).encode(), f'{number}/config.xml')
        os.mkdir(os.path.join(self.folder, 'bin'))
        os.chmod(self.file(CLIENT.format(programs[1]).encode(), 'bin/clickhouse-client'), 0o755)
        for name in ('captures', 'docs'):
            os.symlink(os.path.join(TOP, name), os.path.join(self.folder, name))
        lines = re.findall(r'(?m)^ {4}\$ (.*(?:\n {6,}.*)*)$', read('docs', 'clickhouse.md'))
        self.assertEqual(len(lines), 4)
        self.create, self.export, self.load_all, self.ask = lines

    def of(self, number, part='.'):
        return os.path.join(self.folder, str(number), part)

    def environment(self, number):
        path = f'{self.folder}/bin:{os.path.dirname(RPCRDMA)}:{os.environ["PATH"]}'
        return {**os.environ, 'PATH': path, 'CLICKHOUSE': str(self.ports[number]), 'HOME': self.folder}

    def start(self, number):
        with open(self.of(number, 'output'), 'ab') as out:
            server = subprocess.Popen( # pylint: disable=consider-using-with
                [self.program, '--config-file=' + self.of(number, 'config.xml')], stdout=out, stderr=out,
                cwd=self.of(number), stdin=subprocess.DEVNULL)
        self.servers[number] = server
        self.addCleanup(self.stop, server)
        for _ in range(600):
            if self.client(number, 'SELECT 1', check=False).stdout == '1\n':
                return
            self.assertIsNone(server.poll(), 'the server ended')
            time.sleep(0.1)
        with open(self.of(number, 'errors'), encoding='utf-8') as file:
            self.fail(file.read()[-3000:])

    @staticmethod
    def stop(server, number=signal.SIGTERM):
        server.send_signal(number)
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()

    def client(self, number, query, check=True):
        database = 'default' if query == 'SELECT 1' else 'rpcrdma'
        run = subprocess.run(['clickhouse-client', '--database', database, '--query', query], text=True,
                             env=self.environment(number), capture_output=True, check=False, timeout=120)
        if check:
            self.assertEqual(run.returncode, 0, query + run.stderr)
        return run

    def shell(self, number, line):
        run = subprocess.run(['sh', '-c', line], env=self.environment(number), cwd=self.folder, capture_output=True,
                             text=True, check=False, timeout=300)
        self.assertEqual((run.returncode, run.stderr), (0, ''), line)
        return run.stdout

    def load(self, number, recording):
        shutil.rmtree(os.path.join(self.folder, 'tables'), ignore_errors=True)
        self.shell(number, self.export.replace(FIRST[0], recording))
        self.assertEqual(self.shell(number, self.load_all), '')

    def sqlite(self, *recordings):
        path = os.path.join(self.folder, 'out.db')
        for recording in recordings:
            subprocess.run([RPCRDMA, 'export', '--sqlite', path, recording], cwd=self.folder, check=True, timeout=120)
        base = sqlite3.connect(path)
        self.addCleanup(base.close)
        return base

    def answers(self, number, queries):
        """Rows of text for each query, the first one its columns' names."""
        whole = ''.join(f"{query.strip().rstrip(';')}; SELECT 'end' AS ended;\n" for query in queries)
        run = subprocess.run(['clickhouse-client', '--database', 'rpcrdma', '--multiquery', '--format', 'TabSeparatedWithNames'],
                             input=whole, env=self.environment(number), text=True, capture_output=True, check=False, timeout=120)
        self.assertEqual((run.returncode, run.stderr), (0, ''))
        parts = run.stdout.split('ended\nend\n')
        self.assertEqual((len(parts), parts[-1]), (len(queries) + 1, ''))
        return [[['None' if value == '\\N' else value for value in line.split('\t')] for line in part.splitlines()]
                for part in parts[:-1]]

    def same_answers(self, number, base):
        mine = re.findall(r'(?m)^-- \d+\. (.*)\n((?:[^-\n].*\n)+)', read('docs', 'clickhouse.sql'))
        theirs = re.findall(r'^### \d+\. (.*?)\n\n```sql\n(.*?)```', read('docs', 'sql.md'), re.M | re.S)
        self.assertEqual(len(mine), 20)
        answers = self.answers(number, [query for _, query in mine])
        for (title, _), (question, asked), rows in zip(mine, theirs, answers):
            self.assertTrue(title.startswith(question), title)
            cursor = base.execute(asked)
            want = [[one[0] for one in cursor.description]]
            want += [[str(value) for value in row] for row in cursor]
            self.assertEqual(rows, want, title)

    def same_tables(self, number, base):
        """Of each column: how many rows have it, how many values it has, what the numbers add up to."""
        columns = [json.loads(line) for line in self.run_command('export', '--schema').splitlines()]
        queries = {}
        for table in dict.fromkeys(one['table'] for one in columns):
            asked = ['count(*)']
            for one in columns:
                name = one['column']
                if one['table'] == table and name != 'part_of':
                    asked += [f'count({name})', f'count(DISTINCT {name})']
                    if one['unit'] not in ('hash', 'text'):
                        asked.append(f'sum({name} % 1000003)')
            queries[table] = f'SELECT {", ".join(asked)} FROM {table}'
        mine = [re.sub(r'count\(DISTINCT (\w+)\)', r'ifNull(uniqExact(\1), 0)', query).replace('count(*)', 'count()')
                + ' FINAL' for query in queries.values()] # uniqExact of NULLs alone is NULL
        for (table, query), rows in zip(queries.items(), self.answers(number, mine)):
            self.assertEqual(rows[1], [str(value) for value in base.execute(query).fetchone()], table)

    def same(self, base, numbers=(0, 1)):
        for number in numbers:
            self.same_tables(number, base)
            self.same_answers(number, base)

    def test_cluster(self):
        for number in (0, 1):
            self.start(number)
            self.shell(number, self.create)
            self.shell(number, self.create) # they are there, and that is no error
            self.client(number, 'SYSTEM STOP MERGES')
        for i, recording in enumerate(FIRST):
            self.load(i % 2, recording)
            self.load((i + 1) % 2, recording)
        base = self.sqlite(*FIRST)
        rpcs, = base.execute('SELECT count(*) FROM rpcs').fetchone()
        held = [[int(self.client(number, f'SELECT count() FROM rpcs_local {how}').stdout) for number in (0, 1)]
                for how in ('', 'FINAL')]
        self.assertEqual([sum(one) for one in held], [2 * rpcs, rpcs]) # each is there twice, and counted once
        self.assertGreater(min(held[1]), rpcs / 3)                     # and either server has its part
        self.same(base)
        self.assertEqual(len(self.shell(1, self.ask).splitlines()),
                         sum(len(part.splitlines()) - 1 for part in
                             re.findall(r'```sql\n.*?```\n\n```\n(.*?)```', read('docs', 'sql.md'), re.S)))
        self.killed(base)

    def killed(self, before):
        """A server is killed when it has some of the rows of a file; then the file is loaded again."""
        for number in (0, 1):
            self.client(number, 'SYSTEM START MERGES')
        self.run_command('export', '--ndjson', os.path.join(self.folder, 'half'), os.path.join(TOP, MORE[0]))
        with open(os.path.join(self.folder, 'half', 'messages.ndjson'), 'rb') as file:
            rows = file.readlines()
        self.assertGreater(len(rows), 300)
        count = 'SELECT count() FROM messages_local FINAL'
        had = int(self.client(1, count).stdout)
        with subprocess.Popen(['clickhouse-client', '--insert_distributed_sync=1', *SMALL_BLOCKS, '--query',
                               'INSERT INTO rpcrdma.messages FORMAT JSONEachRow'], env=self.environment(0),
                              stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as feed:
            feed.stdin.write(b''.join(rows[:len(rows) // 2]))
            feed.stdin.flush()
            for _ in range(600):
                some = int(self.client(1, count).stdout) - had
                if some > 0:
                    break
                time.sleep(0.1)
            self.assertGreater(some, 0)
            self.stop(self.servers[1], signal.SIGKILL)
            with contextlib.suppress(BrokenPipeError):
                feed.stdin.write(b''.join(rows[len(rows) // 2:]))
                feed.stdin.close()
            self.assertNotEqual(feed.wait(120), 0) # it says that not all is there
        self.start(1)
        self.assertLess(int(self.client(1, 'SELECT count() FROM messages FINAL').stdout),
                        before.execute('SELECT count(*) FROM messages').fetchone()[0] + len(rows))
        for i, recording in enumerate(MORE):
            self.load(i % 2, recording)
        self.same(self.sqlite(*MORE))

    def test_captures_as_they_come(self):
        """Of a capture that was exported with -b, whatever was loaded last, the row that says most."""
        self.start(1)
        self.shell(1, self.create.replace(' --cluster fleet', ''))
        self.run_command('export', '--ndjson', os.path.join(self.folder, 'ring'), '-b', 'filesize:100', os.path.join(TOP, FIRST[1]))
        files = sorted(name for name in os.listdir(os.path.join(self.folder, 'ring')) if name.startswith('captures_'))
        self.assertGreater(len(files), 3)
        for name in reversed(files):
            with open(os.path.join(self.folder, 'ring', name), 'rb') as file:
                subprocess.run(['clickhouse-client', '--query', 'INSERT INTO rpcrdma.captures FORMAT JSONEachRow'], stdin=file,
                               env=self.environment(1), check=True, timeout=120)
        self.assertEqual(self.client(1, 'SELECT packets, complete FROM captures FINAL').stdout, '15098\t1\n')

    def test_one_server(self):
        self.start(1)
        self.assertIn(' --cluster fleet', self.create)
        self.shell(1, self.create.replace(' --cluster fleet', ''))
        self.client(1, 'SYSTEM STOP MERGES')
        for recording in MORE[:2] * 2:
            self.load(1, recording)
        self.same(self.sqlite(*MORE[:2]), [1])
        rules.write(os.path.join(self.folder, 'hours.pcap'), hours_at_limit, True)
        self.load(1, 'hours.pcap')
        asked = 'SELECT hour, requester, at_limit_ns, in_flight_max, granted_max FROM credit_limits ' \
            'WHERE at_limit_ns > 0 ORDER BY hour, at_limit_ns'
        want = [[str(value) for value in row] for row in self.sqlite('hours.pcap').execute(asked)]
        self.assertEqual([row[2] for row in want].count('3600000000000'), 2)
        self.assertEqual(self.answers(1, [asked])[0][1:], want)


class Usage(CommandTest):
    def test_refused(self):
        self.run_command('export', '--sql', 'oracle', status=2)
        self.run_command('export', '--sql', 'clickhouse', '--cluster', 'a); DROP', status=2)
        self.run_command('export', '--cluster', 'fleet', 'file', status=2)


main()
