# SPDX-License-Identifier: BSD-2-Clause
"""decode -i, rpcs -i, credits -i: what a file says, said of the same packets as they pass."""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), part)
                for part in ('..' + os.sep + 'cli', '')]
# pylint: disable=wrong-import-position
import network

network.enter()  # runs us again, with our arguments: command takes them

import command
import credit_talk

MODULES = os.environ.get('RPCRDMA_TEST_MODULES')  # their folder; None: the command has none
NAMES = ('roce-nfs3-mini', 'roce-nfs41-callback', 'iwarp-nfs3-mini')
TIMES = re.compile(r'"(\w*time_ns|\w*_ns)":-?\d+(\.\d+)?,?')


DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def values(sample):
    """Labels may come in another order, and a number in another form."""
    series, _, number = sample.rpartition(' ')
    name, _, labels = re.sub(r'le="(\d+)\.0"', r'le="\1"', series).partition('{')
    return name, sorted(re.findall(r'\w+="(?:[^"\\]|\\.)*"', labels)), float(number)


def without_times(text):
    return [TIMES.sub('', line) for line in text.splitlines()]


class Live(network.Cable, command.CommandTest):
    def live(self, *arguments, name='roce-nfs3-mini', end=network.signal.SIGTERM):
        run = network.Run(command.RPCRDMA, *arguments)
        self.send(packet.data for packet in self.packets(name))
        time.sleep(0.5)
        return run.finish(end)

    def test_same_as_from_a_file(self):
        for name in NAMES:
            for what in ('decode', 'rpcs', 'connections'):
                with self.subTest(name=name, what=what):
                    status, out, err = self.live(what, '--json', '-i', 'v1', name=name)
                    self.assertEqual((status, err), (0, ''))
                    want = self.run_command(what, '--json', command.capture(name))
                    self.assertEqual(without_times(out), without_times(want))

    def test_credits(self):
        status, out, err = self.live('credits', '--json', '-i', 'v1', end=network.signal.SIGINT)
        self.assertEqual((status, err), (0, ''))
        want = json.loads(self.run_command('credits', '--json', command.capture()))
        for mine, its in zip(json.loads(out)['connections'], want['connections'], strict=True):
            for a, b in zip(mine['directions'], its['directions'], strict=True):
                for key in ('calls', 'replies', 'requested', 'granted'):
                    self.assertEqual(a[key], b[key])

    def test_credits_running(self):
        """A report every second, idle or not; its parts add up to the whole."""
        run = network.Run(command.RPCRDMA, 'credits', '--json', '--interval', '1', '-i', 'v1')
        packets, pause = self.packets(), 8  # much longer than this waits for a busy machine
        for i in range(0, len(packets), 8):
            self.send(packet.data for packet in packets[i:i + 8])
            time.sleep(pause if i == len(packets) // 16 * 8 else 0.04)
        time.sleep(1.5)
        status, out, err = run.finish(network.signal.SIGTERM)
        self.assertEqual((status, err), (0, ''))
        rows = [json.loads(line) for line in out.splitlines()]
        self.assertGreater(len({row['time_ns'] for row in rows}), 2)
        self.assertLess(max(row['interval_ns'] for row in rows), pause * 10**9) # not only with packets
        whole = json.loads(self.run_command('credits', '--json', command.capture()))
        for one in whole['connections']:
            want = one['directions'][0]
            mine = [row for row in rows if row['connection'] == one['connection']]
            self.assertEqual(sum(row['calls'] for row in mine), want['calls'])
            self.assertEqual(mine[-1]['granted'], want['granted']['last'])
            self.assertEqual(max(row['in_flight']['max'] for row in mine),
                             want['in_flight']['max'])
        run = network.Run(command.RPCRDMA, 'credits', '--interval', '1', '-i', 'v1')
        self.send(packet.data for packet in packets)
        time.sleep(1.5)
        status, out, err = run.finish(network.signal.SIGINT)
        self.assertEqual((status, err), (0, ''))
        columns = re.split(' {2,}', out.splitlines()[0].replace('connection ', 'connection  '))
        self.assertEqual(columns[:3], ['time', 'connection', 'direction'])
        with open(os.path.join(command.CAPTURES, '..', 'cli', 'man', 'rpcrdma.1'), encoding='ascii') as file:
            page = file.read()
        self.assertEqual(re.findall(r'(?m)^\.It ([a-z%][a-z/ ]+)$', page), columns[3:])
        self.assertRegex(out, r'(?m)^Average: +1 forward ')
        for arguments in (['--interval', '1', command.capture()],
                          ['--interval', '0x', '-i', 'v1'],
                          ['--interval', '1', '-i', 'v1', '--series', 'x']):
            self.run_command('credits', *arguments, status=2)

    def test_metrics(self):
        """While packets pass the file grows, and never falls; at its end it says what a file's says."""
        def read():
            with open(path, encoding='ascii') as file:
                lines = [line.rpartition(' ') for line in file if line[0] != '#' and 'le="' not in line]
            return {name.replace('{device="v1"}', '').replace('device="v1",', ''): float(value) for name, _, value in lines
                    if name.split('{')[0].endswith('_total') and 'capture_lost' not in name}

        path, packets, seen = os.path.join(self.folder, 'live.prom'), self.packets(), []
        run = network.Run(command.RPCRDMA, 'metrics', '--interval', '1', '-i', 'v1', '--textfile', path)
        for part in (packets[:200], packets[200:]):
            count = len(part) + (seen[0]['rpcrdma_capture_packets_total'] if seen else 0)
            self.send(packet.data for packet in part)
            network.wait_for(lambda count=count: os.path.exists(path) and
                             read()['rpcrdma_capture_packets_total'] >= count)
            seen.append(read())
        # a connection that was closed is counted while others, or nothing, go on
        network.wait_for(lambda: sum(value for name, value in read().items()
                                     if name.startswith('rpcrdma_connections_ended_total')) == 2)
        status, out, err = run.finish(network.signal.SIGTERM)
        self.assertEqual((status, out, err), (0, '', ''))
        self.assertEqual(os.listdir(self.folder), ['live.prom'])
        seen.append(read())
        for before, after in zip(seen, seen[1:]):
            for name, value in before.items():
                self.assertGreaterEqual(after[name], value, name)
        self.assertGreater(sum(value for name, value in seen[0].items() if name.startswith('rpcrdma_rpcs_total')), 0)
        whole = self.run_command('metrics', command.capture())
        for line in whole.splitlines():
            name, _, value = line.rpartition(' ')
            if re.match(r'rpcrdma_(rpc|packets|payload|retransmitted|lost|naks|connections)[a-z_]*_total', name) \
                    and 'seconds' not in name:
                self.assertEqual(seen[-1][name], float(value), name)

    def test_two_metrics_of_one_file(self):
        """The second does not begin, while the first goes on, and nothing is left beside its file; then it does."""
        path = os.path.join(self.folder, 'live.prom')
        arguments = (command.RPCRDMA, 'metrics', '--interval', '1', '-i', 'v1', '--textfile', path)
        run, inodes = network.Run(*arguments), set()
        for _ in range(3):  # it is replaced meanwhile
            network.wait_for(lambda: os.path.exists(path) and os.stat(path).st_ino not in inodes)
            inodes.add(os.stat(path).st_ino)
            self.assertEqual(network.Run(*arguments, listening=False).finish(),
                             (2, '', f'rpcrdma: {path}: another process has locked it\n'))
        self.assertEqual(run.finish(network.signal.SIGTERM)[0], 0)
        self.assertEqual(os.listdir(self.folder), ['live.prom'])
        self.assertEqual(network.Run(*arguments).finish(network.signal.SIGTERM)[0], 0)

    def test_metrics_of_a_server_that_hangs(self):
        """Time passes without a packet; with the process, what waits is known no more."""
        def waits():
            with open(path, encoding='ascii') as file:
                return sum(float(line.split()[-1]) for line in file if line.startswith('rpcrdma_rpc_oldest_waiting_seconds{'))

        path = os.path.join(self.folder, 'live.prom')
        run = network.Run(command.RPCRDMA, 'metrics', '--interval', '1', '-i', 'v1', '--textfile', path)
        self.send(packet.data for packet in self.packets('iwarp-nfs41-mini')[:154])
        network.wait_for(lambda: os.path.exists(path) and waits() > 2)
        self.assertEqual(run.finish(network.signal.SIGTERM), (0, '', ''))
        self.assertEqual(waits(), 0)

    def test_credits_of_a_server_that_hangs(self):
        """The time at the limit goes on without a packet, and so does what it is measured over."""
        def seconds(what):
            with open(path, encoding='ascii') as file:
                return sum(float(line.split()[-1]) for line in file if line.startswith(f'rpcrdma_credit_{what}_seconds_total{{'))

        path, packets = os.path.join(self.folder, 'live.prom'), []
        mount = credit_talk.Mount(packets)
        mount.ask(1)
        mount.answer(1, credits=2)
        mount.ask(2, 3)
        one = network.Run(command.RPCRDMA, 'metrics', '--interval', '1', '-i', 'v1', '--textfile', path)
        two = network.Run(command.RPCRDMA, 'credits', '--json', '--interval', '1', '-i', 'v1')
        self.send(packet.data for packet in packets)
        network.wait_for(lambda: os.path.exists(path) and seconds('limit') > 2)
        self.assertGreaterEqual(seconds('measured'), seconds('limit'))
        self.assertEqual(one.finish(network.signal.SIGTERM), (0, '', ''))
        status, out, err = two.finish(network.signal.SIGTERM)
        self.assertEqual((status, err), (0, ''))
        self.assertGreater(sum(json.loads(line)['at_limit_ns'] for line in out.splitlines()), 1.9 * 10**9)

    def test_credits_until_it_is_stopped(self):
        """The last lines are of the time at which it is stopped, not of the last packet, nor of the second before."""
        packets = []
        mount = credit_talk.Mount(packets)
        mount.ask(1)
        mount.answer(1, credits=2)
        mount.ask(2, 3)
        for interval in ((), ('--interval', '60')):
            run = network.Run(command.RPCRDMA, 'credits', '--json', *interval, '-i', 'v1')
            began = time.time()
            self.send(packet.data for packet in packets)
            time.sleep(2.7)
            stopped = time.time()
            status, out, err = run.finish(network.signal.SIGTERM)
            self.assertEqual((status, err), (0, ''))
            one = json.loads(out)
            if not interval:
                one = one['connections'][0]['directions'][0]
            else:
                self.assertGreaterEqual(one['time_ns'], (stopped - 0.1) * 1e9)
            self.assertGreater(one['at_limit_ns'], 2.5 * 10**9)
            self.assertLess(one['at_limit_ns'], (time.time() - began) * 10**9)

    def test_export_goes_on(self):
        """Files of export -b come by time, also when no packet does; all rows are in them, once."""
        folder = os.path.join(self.folder, 'out')
        run = network.Run(command.RPCRDMA, 'export', '--ndjson', folder, '-b', 'duration:1', '-i', 'v1')
        packets = self.packets()
        for part in (packets[:200], packets[200:]):
            before = len(os.listdir(folder))
            self.send(packet.data for packet in part)
            network.wait_for(lambda before=before: any(name.startswith('rpcs_') and name.endswith('.ndjson') for name in
                                                       sorted(os.listdir(folder))[before:]) and
                             not any(name.endswith('.part') for name in os.listdir(folder)))
        self.assertEqual(run.finish(network.signal.SIGTERM), (0, '', ''))
        rows = []
        for name in sorted(os.listdir(folder)):
            self.assertTrue(name.endswith('.ndjson'), name)
            if name.startswith('rpcs_'):
                with open(os.path.join(folder, name), encoding='utf-8') as file:
                    rows += [json.loads(line) for line in file]
        want = [json.loads(line) for line in self.run_command('export', '--ndjson', '-', '--tables', 'rpcs',
                                                              command.capture()).splitlines()]
        self.assertEqual([(row['xid'], row['name']) for row in rows], [(row['xid'], row['name']) for row in want])

    def two_devices(self):
        """The same packets by both ends of the cable: texts of v0 and v1."""
        paths = [os.path.join(self.folder, f'{name}.prom') for name in ('v0', 'v1')]
        runs = [network.Run(command.RPCRDMA, 'metrics', '--interval', '1', '-i', name, '--textfile', path)
                for name, path in zip(('v0', 'v1'), paths)]
        packets, texts = self.packets(), []
        self.send(packet.data for packet in packets)
        for run, path in zip(runs, paths):
            network.wait_for(lambda path=path: os.path.exists(path) and
                             f' {len(packets)}\n' in open(path, encoding='ascii').read()) # pylint: disable=consider-using-with
            self.assertEqual(run.finish(network.signal.SIGTERM), (0, '', ''))
            with open(path, encoding='ascii') as file:
                texts.append(file.read())
        return texts

    def test_metrics_of_two_devices(self):
        series = [{line.rpartition(' ')[0] for line in text.splitlines() if line[0] != '#'} for text in self.two_devices()]
        self.assertGreater(len(series[0]), 100)
        self.assertFalse(series[0] & series[1])
        self.assertEqual({one.replace('device="v0"', 'device="v1"') for one in series[0]}, series[1])
        self.assertTrue(all(re.match(r'rpcrdma_\w+\{device="v1"[,}]', one) for one in series[1]))

    def test_node_exporter(self):
        """A node_exporter collects both files whole."""
        program = shutil.which('prometheus-node-exporter')
        if not program:
            self.skipTest('node_exporter is not installed (package prometheus-node-exporter)')
        want = [line for text in self.two_devices() for line in text.splitlines() if line[0] != '#']
        subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
        with socket.create_server(('127.0.0.1', 0)) as free:
            url = f'127.0.0.1:{free.getsockname()[1]}'
        log = open(os.path.join(self.folder, 'log'), 'w+', encoding='utf-8') # pylint: disable=consider-using-with
        self.addCleanup(log.close)
        run = subprocess.Popen( # pylint: disable=consider-using-with
            [program, '--collector.disable-defaults', '--collector.textfile', f'--web.listen-address={url}',
             f'--collector.textfile.directory={self.folder}'], stdout=log, stderr=log)
        self.addCleanup(run.wait)
        self.addCleanup(run.terminate)

        def scraped():
            try:
                with DIRECT.open(f'http://{url}/metrics', timeout=30) as answer:
                    return answer.read().decode()
            except urllib.error.HTTPError as error:
                return self.fail(error.read().decode())
            except (urllib.error.URLError, ConnectionError):
                self.assertIsNone(run.poll(), 'node_exporter ended')
                return ''

        network.wait_for(scraped)
        text = scraped()
        self.assertIn('\nnode_textfile_scrape_error 0\n', text)
        have = [line for line in text.splitlines() if line.startswith('rpcrdma_')]
        self.assertEqual(sorted(values(line) for line in have), sorted(values(line) for line in want))
        log.seek(0)
        self.assertNotIn('level=error', log.read())

    def test_credits_average(self):
        """Over the time that a connection was there: not before, nor after its end."""
        for seconds in ('60', '1'):  # the end comes with Calls, and without
            with self.subTest(seconds=seconds):
                self.average(seconds)

    def average(self, interval):
        run = network.Run(command.RPCRDMA, 'credits', '--interval', interval, '-i', 'v1')
        time.sleep(2)
        begin = time.monotonic()
        for i, packet in enumerate(self.packets()):
            self.send([packet.data])
            # all RPCs are done, and the second connection is still there
            time.sleep(2.5 if i == 490 and interval == '1' else 0.002)
        end = time.monotonic()
        time.sleep(2)
        status, out, err = run.finish(network.signal.SIGINT)
        self.assertEqual((status, err), (0, ''))
        rates = [float(line.split()[3]) for line in out.splitlines()
                 if line.startswith('Average:')]
        calls = [one['directions'][0]['calls'] for one in json.loads(
            self.run_command('credits', '--json', command.capture()))['connections']]
        seconds = [n / rate for n, rate in zip(calls, rates, strict=True)]
        self.assertGreater(sum(seconds), (end - begin) / 4)
        self.assertLess(sum(seconds), (end - begin) * 1.05)  # one after the other

    def test_lines_come_at_once(self):
        packets = self.packets()
        run = network.Run(command.RPCRDMA, 'decode', '--json', '-i', 'v1')
        self.send(packet.data for packet in packets[:100])
        want = [line for line in
                self.run_command('decode', '--json', '-c', '100', command.capture()).splitlines()]
        got = [run.run.stdout.readline() for _ in want]
        self.assertEqual(len(got), len(want))
        self.assertEqual(run.finish(network.signal.SIGTERM)[0], 0)

    def test_count(self):
        status, out, err = self.live('decode', '-c', '200', '-i', 'v1', end=None)
        self.assertEqual((status, err), (0, ''))
        want = self.run_command('decode', '-c', '200', command.capture())
        self.assertEqual(len(out.splitlines()), len(want.splitlines()))

    def test_filter_and_snaplen(self):
        """A packet in one direction, and then all of them but short: the file's lines, cut so."""
        status, out, err = self.live('decode', '--json', '-i', 'v1', '-p', '-B', '4', '-f',
                                     'udp port 4791 and src host 192.168.77.11')
        self.assertEqual((status, err), (0, ''))
        self.assertEqual({json.loads(line)['src'] for line in out.splitlines()},
                         {'192.168.77.11'})
        status, out, err = self.live('decode', '--json', '-i', 'v1', '-s', '128')
        self.assertEqual((status, err), (0, ''))
        cut = [packet._replace(data=packet.data[:128]) for packet in self.packets()]
        path = os.path.join(self.folder, 'cut.pcap')
        command.pcap.write(path, cut)
        want = self.run_command('decode', '--json', path)
        self.assertIn('"truncated"', want)
        self.assertEqual(without_times(out), without_times(want))
        status, out, err = self.live('decode', '--json', '-i', 'v1', '-s', '0')  # all, to whoever knows tcpdump
        self.assertEqual((status, err), (0, ''))
        self.assertEqual(without_times(out), without_times(self.run_command('decode', '--json', command.capture())))

    def test_two_interfaces(self):
        """What leaves one end comes in at the other: each packet is there twice."""
        status, out, err = self.live('connections', '-i', 'v0', '-i', 'v1')
        self.assertEqual((status, err), (0, ''))
        last = max(int(one) for one in re.findall(r'frames \d+-(\d+)', out))
        self.assertGreater(last, len(self.packets()))

    def test_nothing_there(self):
        run = network.Run(command.RPCRDMA, 'decode', '-i', 'v1')
        status, out, err = run.finish(network.signal.SIGINT)
        self.assertEqual((status, out), (0, ''))
        self.assertIn('no RPC-over-RDMA: 0 packets', err)
        self.assertEqual(len(err.splitlines()), 1)

    def test_reader_goes_away(self):
        """As with `| head`: no complaint, and no process stays behind."""
        before = network.listeners()
        run = network.Run(command.RPCRDMA, 'decode', '-i', 'v1')
        run.run.stdout.close()
        for _ in range(3):
            self.send(packet.data for packet in self.packets())
            time.sleep(0.2)
        self.assertIn(run.run.wait(60), (0, -network.signal.SIGPIPE))
        self.assertEqual(run.run.stderr.read(), b'')
        run.run.stderr.close()
        network.wait_for(lambda: network.listeners() == before)

    def test_interface_goes_away(self):
        run = network.Run(command.RPCRDMA, 'decode', '-i', 'v1')
        self.send(packet.data for packet in self.packets())
        time.sleep(0.5)
        subprocess.run(['ip', 'link', 'del', 'v1'], check=True)
        status, out, err = run.finish()
        want = self.run_command('decode', command.capture())
        self.assertEqual(status, 2)
        self.assertEqual(len(out.splitlines()), len(want.splitlines()))
        self.assertRegex(err, r'\A(rpcrdma: v1: .*\n)+\Z')  # one, or two where it goes down first

    def test_privileges_are_dropped(self):
        """Both processes: no capability is left, none can be had again, and root is gone."""
        run = network.Run(command.RPCRDMA, 'decode', '-i', 'v1')
        with open(f'/proc/{run.run.pid}/task/{run.run.pid}/children', encoding='ascii') as file:
            children = file.read().split()
        self.assertEqual(len(children), 1)
        for pid in (run.run.pid, *children):
            with open(f'/proc/{pid}/status', encoding='ascii') as file:
                status = dict(line.rstrip('\n').split(':\t', 1) for line in file)
            for which in ('CapPrm', 'CapEff', 'CapInh', 'CapAmb'):
                self.assertEqual(int(status[which], 16), 0, which)
            self.assertEqual(status['NoNewPrivs'], '1')
            with open('/proc/self/uid_map', encoding='ascii') as file:
                if int(file.read().split()[2]) > 65534:  # there is somebody else to be
                    self.assertEqual(status['Uid'].split(), ['65534'] * 4)
        self.assertEqual(run.finish(network.signal.SIGTERM)[0], 0)

    def test_needs_net_raw_only(self):
        if not shutil.which('setpriv'):
            self.skipTest('setpriv is not installed')
        only = ['setpriv', '--inh-caps=-all,+net_raw', '--bounding-set=-all,+net_raw']
        run = network.Run(*only, command.RPCRDMA, 'decode', '-i', 'v1')
        self.send(packet.data for packet in self.packets())
        time.sleep(0.5)
        status, out, err = run.finish(network.signal.SIGTERM)
        self.assertEqual((status, err), (0, ''))
        self.assertEqual(len(out.splitlines()),
                         len(self.run_command('decode', command.capture()).splitlines()))
        nothing = ['setpriv', '--inh-caps=-all', '--bounding-set=-all']
        run = network.Run(*nothing, command.RPCRDMA, 'decode', '-i', 'v1', listening=False)
        status, out, err = run.finish()
        self.assertEqual((status, out), (2, ''))
        self.assertRegex(err, r'\Arpcrdma: v1: no permission .*setcap cap_net_raw\+ep /\S+\n\Z')
        for who, says in ((only, r'\Ayes\Z'), (nothing, r'\Ano permission .*setcap cap_net_raw')):
            run = subprocess.run([*who, command.RPCRDMA, 'capture', '-D', '--json'],
                                 capture_output=True, check=True)
            lines = [json.loads(line) for line in run.stdout.splitlines()]
            self.assertRegex(next(one['capture'] for one in lines if one['device'] == 'v1'), says)
        run = subprocess.run([*nothing, command.RPCRDMA, 'capture', '-D'], capture_output=True,
                             check=True)
        self.assertRegex(run.stdout.decode(), r'(?m)^v1 .* no permission$')
        self.assertNotIn(b'setcap', run.stdout)
        self.assertRegex(run.stderr.decode(), r'\Arpcrdma: no permission .*setcap cap_net_raw\+ep \S+\n\Z')

    def copy(self):
        """The command with its modules, as root installs them: where nobody else can write; and their folder."""
        if os.stat('/').st_uid != 0 or not os.access('/run', os.W_OK):
            self.skipTest('no folder that is root\'s alone')
        folder = tempfile.TemporaryDirectory(dir='/run')
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        program, modules = os.path.join(folder.name, 'bin', 'rpcrdma'), None
        os.mkdir(os.path.dirname(program))
        shutil.copy(command.RPCRDMA, program)
        if MODULES:
            modules = os.path.normpath(os.path.join(os.path.dirname(program),
                                                    os.path.relpath(MODULES, os.path.dirname(command.RPCRDMA))))
            shutil.copytree(MODULES, modules)
        if os.geteuid() != 0 or not shutil.which('setpriv') or not shutil.which('setcap') or \
                subprocess.run(['setcap', 'cap_net_raw+ep', program], check=False).returncode != 0:
            self.skipTest('no capabilities of files here')
        return program, modules

    def test_capability_of_the_file(self):
        """What the program advises, done: anybody may capture, and only that."""
        program, _ = self.copy()
        somebody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
        run = network.Run(*somebody, program, 'decode', '-i', 'v1')
        self.send(packet.data for packet in self.packets())
        time.sleep(0.5)
        status, out, err = run.finish(network.signal.SIGTERM)
        if 'no permission' in err:
            self.skipTest('a namespace that gives none')
        self.assertEqual((status, err), (0, ''))
        self.assertEqual(len(out.splitlines()),
                         len(self.run_command('decode', command.capture()).splitlines()))

    def test_capability_elsewhere(self):
        """With modules that another could write a program with capabilities does not capture."""
        program, folder = self.copy()
        if not folder:
            self.skipTest('built without modules')
        somebody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
        for one in (os.path.join(folder, 'devices.so'), folder, os.path.dirname(folder)):
            os.chmod(one, 0o777)
            run = subprocess.run([*somebody, program, 'decode', '-i', 'v1'], capture_output=True, check=False)
            self.assertEqual((run.returncode, run.stdout), (2, b''))
            self.assertRegex(run.stderr.decode(), r'\Arpcrdma: .*/devices[.]so: a program with capabilities loads only '
                                                  r'what nobody but root can write\n\Z')
            os.chmod(one, 0o755)

    def test_bad_usage(self):
        for arguments, says in (
                (['-i', 'nosuch'], 'nosuch: there is no such device'),
                (['-i', 'v1', '-f', 'frobnicate foo'], 'filter "frobnicate foo": '),
                (['-i', 'v1', '-i', 'nosuch'], 'nosuch: there is no such device'),
                (['-i', 'v1', command.capture()], 'choose one'),
                (['-i', 'v1', '-s', '262145'], '1 to 262144')):
            self.assertEqual(self.run_command('decode', *arguments, status=2), '')
            self.assertIn(says, self.stderr)


command.main()
