# SPDX-License-Identifier: BSD-2-Clause
"""What --max-memory leaves out is told by every command, and what need not be left out is not."""
import collections
import json
import os
import re
import struct

import command

BTH = 14 + 20 + 8  # behind Ethernet, IPv4 and UDP
MESSAGE = BTH + 12
QPS = 900
SAID = re.compile(r'^rpcrdma: (?:\S+: )?--max-memory \((\d+) MiB\) was reached (\d+) time(s?): ', re.M)



class Limit(command.CommandTest):
    def many(self, qps, gap_ns=1000):
        """A Call, each to a QP of its own: none is answered, and nothing sets a connection up."""
        lines = [json.loads(line) for line in self.run_command('decode', '--json', command.capture()).splitlines()]
        frame = next(line['frame'] for line in lines
                     if line.get('direction') == 'call' and line.get('frame') == line.get('first_frame', line['frame'])
                     and line.get('credits') and line.get('version') == 1)
        call = next(p for p in self.packets() if p.frame == frame)
        path = os.path.join(self.folder, 'many.pcap')
        out = []
        for i in range(qps):
            data = bytearray(call.data)
            data[BTH + 5:BTH + 8] = (0x200 + i).to_bytes(3, 'big')
            data[MESSAGE:MESSAGE + 4] = struct.pack('>I', 0x10000 + i)
            at = data.index(call.data[MESSAGE:MESSAGE + 4], MESSAGE + 4)  # the RPC header's
            data[at:at + 4] = struct.pack('>I', 0x10000 + i)
            out.append(call._replace(data=bytes(data), time_ns=call.time_ns + i * gap_ns, frame=i + 1))
        command.pcap.write(path, out)
        return path

    def xids(self, path, *options, errors):
        lines = [json.loads(line)
                 for line in self.run_command('rpcs', '--json', *options, path, errors=errors).splitlines()]
        return collections.Counter(int(line['xid'], 16) for line in lines)

    def reached(self, mib):
        said = SAID.findall(self.stderr)
        self.assertEqual(len(said), 1, self.stderr)
        self.assertEqual(said[0][0], str(mib))
        self.assertEqual(said[0][2], '' if said[0][1] == '1' else 's')
        return int(said[0][1])

    def test_nothing_lost(self):
        """The connections silent longest end early; their Calls are told. Together, and in seconds."""
        for gap_ns in (1000, 5 * 10**6):
            path = self.many(QPS, gap_ns)
            want = {0x10000 + i: 1 for i in range(QPS)}
            self.assertEqual(self.xids(path, errors=0), want)
            self.assertEqual(self.xids(path, '--max-memory', '2', errors=1), want)
            self.reached(2)
            out = self.run_command('decode', '--json', '--max-memory', '2', path, errors=1)
            lines = [json.loads(line) for line in out.splitlines()]
            self.assertEqual(sorted(int(line['xid'], 16) for line in lines if 'xid' in line), sorted(want))

    def test_diff(self):
        """It stands beside what was compared, of each."""
        path = self.many(QPS)
        rows = [json.loads(line) for line in self.run_command('diff', '--json', '--max-memory', '2', path, command.capture(),
                                                              errors=1).splitlines()]
        said = self.stderr.removeprefix('rpcrdma: ').strip()
        self.reached(2)
        self.assertEqual({tuple(row['problems']) for row in rows}, {(said,)})
        lines = self.run_command('diff', '--max-memory', '2', path, command.capture(), errors=1).splitlines()
        self.assertEqual(lines[:3], [f'A: {path}', f'   doubtful: {said}', f'B: {command.capture()}'])

    def test_said_by_all(self):
        path, out = self.many(QPS), os.path.join(self.folder, 'out')
        for arguments, others in ((['decode'], 0), (['decode', '-V'], 0), (['decode', '--summary'], 0), (['rpcs'], 0),
                                  (['rpcs', '--summary'], 0), (['rpcs', '--json'], 0), (['connections'], 0),
                                  (['credits'], None), (['report'], 0), (['report', '--json'], 0),
                                  (['trace', '--xid', '0x10001'], 0), (['extract', '-w', out + '.pcap'], None),
                                  (['extract', '-d', out], None), (['check', '-n'], 1),
                                  (['capture', '--slice', '-w', out + '.pcapng', '-r'], None),
                                  (['capture', '--rpcrdma-only', '-w', out + '2.pcapng', '-r'], None)):
            with self.subTest(arguments):
                run = command.subprocess.run([command.RPCRDMA, *arguments[:1], '--max-memory', '2', *arguments[1:], path],
                                             capture_output=True, check=False, timeout=120)
                self.stderr = run.stderr.decode()
                self.assertIn(run.returncode, (0, 1), self.stderr)
                self.assertGreater(self.reached(2), 1)
                if others is not None:
                    self.assertEqual(len(self.stderr.splitlines()), 1 + others, self.stderr)
        self.run_command('decode', '-q', '--max-memory', '2', path)

    def test_count(self):
        """As many as there are findings of it."""
        path = self.many(QPS)
        out = self.run_command('decode', '--json', '--max-memory', '2', path, errors=1)
        told = [line for line in map(json.loads, out.splitlines())
                for finding in line.get('findings', []) if finding['rule'] == 'memory-limit']
        self.assertEqual(self.reached(2), len(told))
        frame = told[0]['frame']  # so many QPs are the fewest that do not fit
        self.run_command('decode', '--max-memory', '2', self.many(frame - 1))
        self.run_command('decode', '--max-memory', '2', self.many(frame), errors=1)

    def test_report(self):
        """It names the limit and what to do, not the capture."""
        path = self.many(QPS)
        report = json.loads(self.run_command('report', '--json', '--max-memory', '2', path, errors=1))
        self.assertEqual(report['memory_limit'], self.reached(2))
        self.assertEqual([cause['cause'] for cause in report['causes']], ['memory-limit'])
        self.assertIn('--max-memory 16', report['causes'][0]['against'])
        self.assertEqual(report['rpcs'], QPS)
        report = json.loads(self.run_command('report', '--json', path))
        self.assertEqual(report['memory_limit'], 0)
        self.assertEqual([cause['cause'] for cause in report['causes']], ['capture-incomplete'])


command.main()
