# SPDX-License-Identifier: BSD-2-Clause
"""A prometheus of our own, on loopback, scrapes what rpcrdma metrics writes; the dashboard asks it."""
import http.server
import json
import math
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import command

DASHBOARD = os.path.join(command.CAPTURES, '..', 'packaging', 'grafana', 'rpcrdma.json')
TYPES = {'/metrics': 'text/plain; version=0.0.4', '/openmetrics': 'application/openmetrics-text; version=1.0.0'}
SAMPLE = re.compile(r'([a-z_]+)(\{.*\})? (\S+)\Z')
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as server:
        return server.getsockname()[1]


def samples(text):
    return [SAMPLE.match(line).groups() for line in text.splitlines() if not line.startswith('#')]


def finite(result):
    return [float(one['value'][1]) for one in result if math.isfinite(float(one['value'][1]))]


class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self): # pylint: disable=invalid-name
        body = self.server.texts[self.path].encode()
        self.send_response(200)
        self.send_header('Content-Type', TYPES[self.path])
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_): # pylint: disable=arguments-differ
        pass


class Prometheus(command.CommandTest):
    def setUp(self):
        program = shutil.which('prometheus')
        if not program:
            self.skipTest('prometheus is not installed (package prometheus)')
        super().setUp()
        packets = self.packets('roce-nfs3-mini')
        self.stages = [self.texts(packets[:400], 3), self.texts(packets, 10)] # the last READ comes after these
        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Answers)
        self.addCleanup(self.server.server_close)
        self.server.texts = self.stages[0]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.shutdown)
        self.port = free_port()
        jobs = ''.join(f'- {{job_name: {path[1:]}, metrics_path: {path}, static_configs: [{{targets: '
                       f'["127.0.0.1:{self.server.server_port}"]}}]}}\n' for path in TYPES)
        config = self.file(b'global: {scrape_interval: 1s}\nscrape_configs:\n' + jobs.encode(), 'prometheus.yml')
        with open(os.path.join(self.folder, 'log'), 'wb') as log:
            run = subprocess.Popen( # pylint: disable=consider-using-with
                [program, f'--config.file={config}', f'--storage.tsdb.path={self.folder}/data',
                 f'--web.listen-address=127.0.0.1:{self.port}'], stdout=log, stderr=log, cwd=self.folder)
        self.addCleanup(self.stop, run)
        self.run = run

    @staticmethod
    def stop(run):
        run.send_signal(signal.SIGTERM)
        run.wait()

    def texts(self, packets, lost):
        """What metrics says of a file that also tells how many packets its capture lost."""
        data = command.section() + command.interface(options=command.option(9, b'\x09'))
        data += b''.join(command.enhanced(one.data, one.time_ns) for one in packets)
        data += command.block(5, struct.pack('<III', 0, 0, 0) + command.option(5, struct.pack('<Q', lost))
                              + struct.pack('<I', 0))
        path = self.file(data, f'{lost}.pcapng')
        return {'/metrics': self.run_command('metrics', '-q', path),
                '/openmetrics': self.run_command('metrics', '-q', '--openmetrics', path)}

    def api(self, path, **parameters):
        url = f'http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}'
        try:
            with DIRECT.open(url, timeout=30) as answer:
                return json.load(answer)['data']
        except urllib.error.HTTPError as error:
            if error.code == 503: # it listens, and is not ready yet
                raise
            return self.fail(f'{parameters}: {error.read()}')

    def query(self, expression):
        return self.api('query', query=expression)['result']

    def wait_for_packets(self, text):
        """Until both jobs have this text, and had it twice."""
        count = int(next(value for name, _, value in samples(text) if name == 'rpcrdma_capture_packets_total'))
        for _ in range(600):
            self.assertIsNone(self.run.poll(), 'prometheus ended')
            try:
                if len(self.query(f'rpcrdma_capture_packets_total == {count}')) == len(TYPES):
                    return
            except (urllib.error.URLError, ConnectionError):
                pass # not ready yet
            time.sleep(0.1)
        with open(os.path.join(self.folder, 'log'), encoding='utf-8') as file:
            self.fail(file.read()[-3000:])

    def expressions(self):
        with open(DASHBOARD, encoding='ascii') as file:
            dashboard = json.load(file)
        for panel in dashboard['panels']:
            for target in panel['targets']:
                yield panel['title'], target['expr']
        for variable in dashboard['templating']['list']:
            if variable['type'] == 'query':
                metric, label = re.fullmatch(r'label_values\((.*), (\w+)\)', variable['query']['query']).groups()
                if label == 'device': # here files are scraped, which have none
                    continue
                yield '$' + variable['name'], f'count by ({label}) ({metric})'

    def test_scrape_and_dashboard(self):
        self.wait_for_packets(self.stages[0]['/metrics'])
        self.server.texts = self.stages[1]
        self.wait_for_packets(self.stages[1]['/metrics'])
        for path in TYPES: # every sample arrived, none was refused
            job = path[1:]
            want = samples(self.stages[1][path])
            have = self.query(f'{{__name__=~"rpcrdma_.+",job="{job}"}}')
            self.assertEqual(len(have), len(want))
            for name in ('rpcrdma_rpcs_total', 'rpcrdma_rpc_latency_seconds_bucket', 'rpcrdma_capture_lost_packets_total'):
                values = sum(float(value) for one, _, value in want if one == name)
                self.assertGreater(values, 0, name)
                self.assertEqual(finite(self.query(f'sum({name}{{job="{job}"}})')), [values], name)
        grows, used = set(), set()
        for title, expression in self.expressions():
            with self.subTest(panel=title, expression=expression):
                asked = re.sub(r'\$(instance|server|client)\b', '.+', expression.replace('$device', '.*')) # files have none
                asked = asked.replace('$__rate_interval', '5m')
                self.assertNotIn('$', asked)
                result = self.query(asked)
                self.assertTrue(finite(result), result)
                self.assertTrue(all(label for one in result for label in one['metric'].values()))
                if sum(finite(result)) > 0:
                    grows.add(title)
                used.update(re.findall(r'rpcrdma_\w+', expression))
                self.assertEqual(self.query(asked.replace('rpcrdma_', 'no_such_')), [])
        self.assertGreaterEqual(grows, {'RPCs', 'RPC latency', 'RPC bytes', 'Chunk data', 'Capture',
                                        'Memory of rpcrdma', '$server', '$client'})
        self.assertGreater(len(used), 20)


command.main()
