# SPDX-License-Identifier: BSD-2-Clause
"""What cannot be shown as it is is told: a clock that was set back, files one behind the other, tunnels within tunnels."""
import json
import os
import struct
import subprocess

import command

COMMANDS = ('decode', 'rpcs', 'connections', 'credits', 'check')
HOUR = 3600 * 10**9


class Silent(command.CommandTest):
    def said(self, *arguments, status=0):
        run = subprocess.run([command.RPCRDMA, *arguments], capture_output=True, check=False, timeout=60)
        self.assertEqual(run.returncode, status, run.stderr)
        self.stderr = run.stderr.decode()
        return run.stdout.decode()

    def told_by_report(self, path, label, said):
        """In every form, and by diff; label None: in none."""
        for quiet in ((), ('-q',)):
            problems = json.loads(self.said('report', *quiet, '--json', path))['problems']
            self.assertEqual([said in problem for problem in problems], [True] * (label is not None))
            text = ' '.join(self.said('report', *quiet, path).split())
            self.assertEqual(f'{label} {said[:40]}' in text, label is not None, text)
            page = self.said('report', *quiet, '--html', '-', path)
            self.assertEqual(f'<strong>{str(label).capitalize()}</strong>: {said}' in page, label is not None)
            self.assertFalse(label and 'verdict healthy' in page)
        lines = self.said('diff', path, path).splitlines()
        self.assertEqual(sum(line.startswith(f'   {label}: {said}') for line in lines), 2 * (label is not None))
        for line in self.said('diff', '--json', path, path).splitlines():
            self.assertEqual(len(json.loads(line).get('problems', [])), 2 * (label is not None))

    def test_clock_set_back(self):
        """Between a Call and its Reply the clock goes back by an hour."""
        packets = self.packets()
        lines = [json.loads(line) for line in self.run_command('rpcs', '--json', command.capture()).splitlines()]
        one = next(line for line in lines if line['reply_frame'] - line['call_frame'] > 1 and line['call_frame'] > 200)
        path = os.path.join(self.folder, 'back.pcap')
        command.pcap.write(path, [p._replace(time_ns=p.time_ns - HOUR * (p.frame > one['call_frame']))
                                  for p in packets])
        for what in COMMANDS:
            self.said(what, path)
            self.assertRegex(self.stderr, r'(?m)^rpcrdma: \S+: the clock of the capture was set back 1 time, by up '
                                          r'to 3\d{3}\.\d{3} s, first at packet \d+: ', what)
        self.told_by_report(path, 'doubtful', f'{path}: the clock of the capture was set back 1 time')
        self.assertRegex(' '.join(self.said('report', path).split()), 'Healthy as far as its times can be trusted: ')
        self.told_by_report(command.capture(), None, 'set back')
        out = self.said('rpcs', path)
        self.assertNotRegex(out, r'-[0-9.]+ ms')
        back = [json.loads(line) for line in self.said('rpcs', '--json', path).splitlines()]
        self.assertEqual(len(back), len(lines))
        back = {(line['connection'], line['xid'], line['call_frame']): line for line in back}
        for was in lines:
            now = back[was['connection'], was['xid'], was['call_frame']]
            if was['call_frame'] == one['call_frame']:
                self.assertNotIn('latency_ns', now)
                self.assertIn('time-backwards', {finding['rule'] for finding in now['findings']})
            elif 'latency_ns' in now:
                self.assertEqual(now['latency_ns'], was['latency_ns'])
        for line in self.said('rpcs', '--summary', '--json', path).splitlines():
            for value in json.loads(line).get('latency_ns', {}).values():
                self.assertGreaterEqual(value, 0)

    def test_clocks_that_do_not_go_back(self):
        for name in os.listdir(command.CAPTURES):
            if os.path.exists(command.capture(name)):
                self.said('connections', command.capture(name))
                self.assertNotIn('set back', self.stderr)

    def test_interfaces_take_turns(self):
        """What one interface had queued comes after later packets of the other: no clock went back. One that did is told."""
        def write(back_after, interfaces):
            return self.file(section([p._replace(time_ns=p.time_ns - 30 * 10**6 * (p.frame % interfaces) -
                                                 HOUR * (p.frame > back_after)) for p in self.packets()], interfaces))

        for interfaces in (2, 12):
            self.said('connections', write(10**9, interfaces))
            self.assertNotIn('set back', self.stderr)
        for interfaces in (1, 2):
            self.said('connections', write(100, interfaces))
            self.assertRegex(self.stderr, r'was set back 1 time, by up to 3\d{3}\.')

    def test_sections(self):
        """Files that somebody put one behind the other: both ends' count twice, and a ring's are in the wrong order; each
        section has interfaces of its own, which are in order."""
        packets = self.packets()
        early, late = (section(some) for some in (packets[:len(packets) // 2], packets[len(packets) // 2:]))
        whole = self.file(section(packets), 'whole.pcapng')
        other = self.file(section(self.packets('roce-nfs41-mini')), 'other.pcapng')
        said = r'the clock of the capture was set back where 1 section{} begins, by up to \d+\.\d{{3}} s: '
        turns = section(packets, 2, lambda packet: packet.frame % 2) # two interfaces in each section
        for name, content in (('twice', section(packets) * 2), ('wrong', late + early), ('both', turns * 2)):
            path = self.file(content, f'{name}.pcapng')
            for what in COMMANDS:
                self.said(what, path)
                self.assertRegex(self.stderr, r'(?m)^rpcrdma: \S+: ' + said.format(''), what)
            self.told_by_report(path, 'doubtful', f'{path}: the clock of the capture was set back where 1 section')
            self.said('rpcs', path, other)
            self.assertRegex(self.stderr, said.format(f' of {path}'))
            with open(path, 'rb') as file:
                run = subprocess.run([command.RPCRDMA, 'rpcs', '-'], stdin=file, capture_output=True, check=True)
            self.assertRegex(run.stderr.decode(), said.format(''))
        path = self.file(early + late, 'right.pcapng')
        self.assertEqual(self.said('rpcs', path), self.said('rpcs', whole))
        self.told_by_report(path, None, 'set back')
        # in one section, an interface each: seconds tell it from interfaces that take turns
        out, behind = section(packets, 2, lambda p: 0), section(packets, 2, lambda p: 1)
        at = len(section([], 2))
        self.said('rpcs', self.file(out + behind[at:]))
        self.assertRegex(self.stderr, 'set back where 1 interface begins, ')

    def test_tunnels(self):
        """Ethernet in GRE in IP in Ethernet, over and over."""
        inner = self.packets()[50].data

        def nest(data, times):
            for _ in range(times):
                gre = struct.pack('>HH', 0, 0x6558) + data
                header = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(gre), 0, 0, 64, 47, 0, bytes(4), bytes(4))
                data = bytes(12) + b'\x08\x00' + header + gre
            return data

        for times, deep in ((2, False), (9, True)):
            path = self.file(command.pcap_header() + command.pcap_packet(nest(inner, times)) * 3)
            for what in COMMANDS:
                out = self.said(what, '--qpn', '17', path, status=2 if deep and what == 'check' else 0)
                said = 'rpcrdma: ' + path + ': 3 packets were not decoded: too many Ethernet and IP headers'
                self.assertEqual(said in self.stderr, deep, f'{what}: {self.stderr}')
                if what == 'decode':
                    self.assertEqual('tunnel-depth' in out, deep)
            self.told_by_report(path, 'not read' if deep else None, said.removeprefix('rpcrdma: '))
        for option, lines in (('--slice', 3), ('--rpcrdma-only', 3)):  # what cannot be looked into is kept
            out = os.path.join(self.folder, 'out.pcapng')
            self.run_command('capture', '-r', path, option, '-w', out, errors=lines)
            self.assertIn('3 packets were kept whole: too many Ethernet and IP headers', self.stderr)
            self.assertIn('3 packets written', self.stderr)
            os.unlink(out)


def section(packets, interfaces=1, of=None):
    """Of these packets, on interfaces in turn, or on the one that is told."""
    out = command.section() + command.interface(options=command.option(9, b'\x09') + command.option(0, b'')) * interfaces
    return out + b''.join(command.enhanced(p.data, p.time_ns, of(p) if of else p.frame % interfaces, p.length) for p in packets)


command.main()
