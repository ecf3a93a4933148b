# SPDX-License-Identifier: BSD-2-Clause
"""docs/fleet.md's lines that make a Parquet file of a table, as printed: it has what the database has, all columns among it. Skipped where node
or DuckDB's package is missing; .ci/run puts the latter into build/engines."""
import json
import os
import re
import shutil
import sqlite3
import subprocess
import unittest

from command import CAPTURES, RPCRDMA, CommandTest

TOP = os.path.join(CAPTURES, '..')
MODULES = os.path.join(TOP, 'build', 'engines', 'node_modules')
ASK = '''require("@duckdb/node-api").DuckDBInstance.create().then(i => i.connect())
    .then(c => c.runAndReadAll(process.argv[1])).then(r => console.log(JSON.stringify(r.getRowsJson())))'''
SUMS = 'SELECT count(*), count(DISTINCT id), sum(latency_ns), max(call_time_ns), sum(retransmitted::INT), max(name) FROM '


class Parquet(CommandTest):
    def test_line(self):
        environment = {**os.environ, 'PATH': f'{os.path.dirname(RPCRDMA)}:{os.environ["PATH"]}',
                       'NODE_PATH': os.environ.get('RPCRDMA_NODE_MODULES', MODULES)}

        def node(*arguments):
            return subprocess.run(['node', '-e', *arguments], env=environment, cwd=self.folder, capture_output=True, text=True,
                                  check=False, timeout=120)

        if not shutil.which('node'):
            self.skipTest('no node')
        if node('require("@duckdb/node-api")').returncode != 0:
            self.skipTest('no @duckdb/node-api')
        with open(os.path.join(TOP, 'docs', 'fleet.md'), encoding='utf-8') as file:
            section = file.read().split('\n## Parquet and DuckDB\n')[1]
        lines = re.findall(r'(?m)^ {4}\$ (.*)$', section)
        self.assertEqual(len(lines), 2)
        os.symlink(CAPTURES, os.path.join(self.folder, 'captures'))
        for line in lines:
            run = subprocess.run(['sh', '-c', line], env=environment, cwd=self.folder, capture_output=True, text=True,
                                 check=False, timeout=120)
            self.assertEqual(run.returncode, 0, run.stderr)
        run = node(ASK, f"{SUMS} 'rpcs.parquet'")
        self.assertEqual(run.returncode, 0, run.stderr)
        path = os.path.join(self.folder, 'out.db')
        self.run_command('export', '--sqlite', path, os.path.join(CAPTURES, 'sliced', 'loss-egress.pcapng.zst'))
        with sqlite3.connect(path) as base:
            want = base.execute(SUMS.replace('retransmitted::INT', 'retransmitted') + 'rpcs').fetchone()
        self.assertEqual([str(value) for value in json.loads(run.stdout)[0]], [str(value) for value in want])
        run = node(ASK, "SELECT list(name) FROM parquet_schema('rpcs.parquet') WHERE type IS NOT NULL")
        columns = [one['column'] for one in map(json.loads, self.run_command('export', '--schema').splitlines())
                   if one['table'] == 'rpcs']
        self.assertEqual(json.loads(run.stdout)[0][0], columns)

    def test_views(self):
        """One for each table, or for those that are chosen, whose columns are those of --schema."""
        columns = {}
        for one in map(json.loads, self.run_command('export', '--schema').splitlines()):
            columns.setdefault(one['table'], []).append(one['column'])
        for options, wanted in (((), columns), (('--tables', 'paths,rpcs'), ('paths', 'rpcs'))):
            text = self.run_command('export', '--sql', 'duckdb', *options)
            views = re.findall(r"(?s)CREATE OR REPLACE VIEW (\w+) AS FROM read_json\('(\w+)\*\.ndjson\*'.*?\{(.*?)\}\);", text)
            self.assertEqual({name: re.findall(r'"(\w+)": \'\w+\'', inside) for name, _, inside in views},
                             {name: columns[name] for name in wanted})
            self.assertTrue(all(name == files for name, files, _ in views))
        self.run_command('export', '--sql', 'duckdb', '--cluster', 'one', status=2, errors=1)


if __name__ == '__main__':
    unittest.main()
