# SPDX-License-Identifier: BSD-2-Clause
"""rpcrdma capture -i of a network interface: packet for packet, to its end, whatever the end is."""
import json
import os
import subprocess
import sys
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), part)
                for part in ('..' + os.sep + 'cli', '')]
# pylint: disable=wrong-import-position
import network

network.enter()  # runs us again, with our arguments: command takes them

import command
import ngfile

IFDROP, OSDROP = 5, 7


class Network(network.Cable, command.CommandTest):
    def capture(self, *arguments, packets=None, how=network.signal.SIGTERM, status=0, wait=0.5):
        """stderr of a capture of these packets, or of the recording's."""
        self.out = os.path.join(self.folder, 'out.pcapng')
        run = network.Run(command.RPCRDMA, 'capture', '-w', self.out, *arguments)
        self.send(packet.data for packet in (self.packets() if packets is None else packets))
        time.sleep(wait)
        got, out, err = run.finish(how)
        self.assertEqual((got, out), (status, ''), err)
        return err

    def check(self, packets=None, drops=0):
        file = ngfile.read(self.out)
        self.assertEqual([(p.data, p.length) for p in file.packets],
                         [(p.data, len(p.data)) for p in packets or self.packets()])
        self.assertEqual(file.statistics[0].get(OSDROP), drops)
        times = [p.time_ns for p in file.packets]
        self.assertEqual(times, sorted(times))
        self.assertLess(abs(times[-1] - time.time_ns()), 60 * 10**9)
        return file

    def test_packet_for_packet(self):
        for name in ('roce-nfs3-mini', 'iwarp-nfs3-mini'):
            for how in (network.signal.SIGINT, network.signal.SIGTERM, network.signal.SIGHUP):
                err = self.capture('-i', 'v1', packets=self.packets(name), how=how)
                file = self.check(self.packets(name))
                self.assertRegex(err, rf'\Arpcrdma: {len(file.packets)} packets written, '
                                      r'\d+ bytes\n\Z')
                one = file.interfaces[0]
                self.assertEqual((one.name, one.linktype, one.resolution), ('v1', 1, 9))
                self.assertIn("host's clock", one.comment)

    def test_slice_as_it_passes(self):
        err = self.capture('-i', 'v1', '--slice', '--rpcrdma-only')
        self.assertIn('packets left out', err)

        def untimed(row):
            """Without what another clock, and fewer frames, change."""
            return {key: untimed(value) if isinstance(value, dict) else value for key, value in row.items()
                    if not key.endswith(('_ns', 'frame'))}

        def rpcs(path):
            return [untimed(json.loads(line)) for line in self.run_command('rpcs', '--json', path).splitlines()]
        self.assertEqual(rpcs(self.out), rpcs(command.capture()))
        self.assertLess(os.path.getsize(self.out), os.path.getsize(command.capture()))

    def test_ends(self):
        self.capture('-q', '-i', 'v1', '-c', '100', how=None)
        self.check(self.packets()[:100])
        begin = time.monotonic()
        self.capture('-q', '-i', 'v1', '-a', 'duration:4', how=None, wait=0)
        self.assertTrue(3 < time.monotonic() - begin < 60)
        self.check()
        self.capture('-q', '-i', 'v1', '--rpcrdma-only', '-a', 'duration:4', how=None, wait=0)
        self.assertGreater(len(ngfile.read(self.out).packets), 350)

    def test_until_when(self):
        """Packets were awaited for longer than they came: the file says so, and so does report while it listens."""
        self.capture('-q', '-i', 'v1', wait=2.5)
        file = ngfile.read(self.out)
        silent = file.ends[0] - file.packets[-1].time_ns
        self.assertTrue(1.5e9 < silent < 60e9, silent)
        self.assertAlmostEqual(json.loads(self.run_command('report', '--json', self.out))['silent_ns'], silent)
        run = network.Run(command.RPCRDMA, 'report', '--json', '-i', 'v1')
        self.send(packet.data for packet in self.packets())
        time.sleep(2.5)
        status, out, err = run.finish(network.signal.SIGINT)
        self.assertEqual(status, 0, err)
        self.assertTrue(1.5e9 < json.loads(out)['silent_ns'] < 60e9, out[:1000])

    def test_until_when_of_a_trigger(self):
        """Met late: what was before is written then, and the end of the file is when it was, by the packets' clock."""
        packets = self.packets('iwarp-nfs41-mini')[:154]  # the last is a Call
        for post in ('0.1', '60'):  # it ends in silence, or with the command
            folder = os.path.join(self.folder, post)
            os.mkdir(folder)
            run = network.Run(command.RPCRDMA, 'capture', '-q', '-i', 'v1', '-w', os.path.join(folder, 'e.pcapng'),
                              '--trigger', 'waiting_ns > 2s', '--post', post)
            self.send(packet.data for packet in packets)
            time.sleep(4.5)
            status, _, err = run.finish(network.signal.SIGTERM)
            self.assertEqual(status, 0, err)
            name, = os.listdir(folder)
            file = ngfile.read(os.path.join(folder, name))
            self.assertEqual(len(file.packets), len(packets))
            self.assertTrue(2e9 < file.ends[0] - file.packets[-1].time_ns < 60e9, file.ends)

    def test_filter(self):
        self.capture('-q', '-i', 'v1', '-f', 'udp port 4791', '-s', '200')
        file = ngfile.read(self.out)
        self.assertEqual(file.interfaces[0].filter, 'udp port 4791')
        self.assertEqual(file.interfaces[0].snaplen, 200)
        want = [p for p in self.packets() if p.data[12:14] == b'\x08\x00' and p.data[23] == 17 and
                p.data[36:38] == (4791).to_bytes(2, 'big')]
        self.assertEqual([(p.data, p.length) for p in file.packets],
                         [(p.data[:200], len(p.data)) for p in want])

    def test_two_interfaces(self):
        err = self.capture('-i', 'v0', '-i', 'v1')
        file = ngfile.read(self.out)
        self.assertEqual([one.name for one in file.interfaces], ['v0', 'v1'])
        for number in (0, 1):
            self.assertEqual([p.data for p in file.packets if p.interface == number],
                             [p.data for p in self.packets()])
        self.assertIn(f'{len(file.packets)} packets written', err)

    def test_drops_are_counted(self):
        """A buffer that is too small, a program that is stopped: what is lost is told."""
        self.out = os.path.join(self.folder, 'out.pcapng')
        run = network.Run(command.RPCRDMA, 'capture', '-i', 'v1', '-B', '1', '-w', self.out)
        run.run.send_signal(network.signal.SIGSTOP)
        big = bytes(12) + b'\x08\x00' + bytes(8000)
        for i in range(40):
            self.send([big] * 16)
            time.sleep(0.002 if i < 39 else 0.2)
        run.run.send_signal(network.signal.SIGCONT)
        time.sleep(0.5)
        status, _, err = run.finish(network.signal.SIGTERM)
        self.assertEqual(status, 0)
        file = ngfile.read(self.out)
        lost = file.statistics[0][OSDROP]
        self.assertGreater(lost, 0)
        self.assertEqual(lost + len(file.packets) + file.statistics[0].get(IFDROP, 0), 640)
        self.assertRegex(err, r'(?m)^rpcrdma: v1: \d+ packets were lost before')

    def test_interface_goes_away(self):
        self.out = os.path.join(self.folder, 'out.pcapng')
        for more in ([], ['--slice']):
            network.set_up()
            self.sender.close()
            self.sender = network.sender()
            run = network.Run(command.RPCRDMA, 'capture', '-q', '-i', 'v1', '-w', self.out, *more)
            self.send(p.data for p in self.packets())
            time.sleep(0.5)
            subprocess.run(['ip', 'link', 'del', 'v1'], check=True)
            status, _, err = run.finish()
            self.assertEqual(status, 2)
            self.assertRegex(err, r'\Arpcrdma: v1: .*\n\Z')
            self.assertEqual(len(ngfile.read(self.out).packets), len(self.packets()))

    def test_to_a_pipe(self):
        """Packets come out while nothing else happens; the reader's end is ours."""
        run = network.Run(command.RPCRDMA, 'capture', '-q', '-i', 'v1', '-w', '-')
        self.send(p.data for p in self.packets())
        want = sum(len(p.data) for p in self.packets())
        got = b''
        while len(got) < want:
            got += os.read(run.run.stdout.fileno(), 1 << 20)
        run.run.stdout.close()
        for _ in range(5):
            self.send(p.data for p in self.packets())
            time.sleep(0.1)
        self.assertEqual(run.run.wait(60), 0)
        self.assertEqual(run.run.stderr.read(), b'')
        run.run.stderr.close()

    def test_ring(self):
        begin = time.time_ns()
        self.capture('-q', '-i', 'v1', '-b', 'filesize:20', '-b', 'files:2')
        names = sorted(os.listdir(self.folder))
        self.assertEqual(len(names), 2)
        for name in names:
            file = ngfile.read(os.path.join(self.folder, name))
            self.assertEqual(file.interfaces[0].name, 'v1')
            self.assertIn(OSDROP, file.statistics[0])
            self.assertTrue(begin <= file.since[0] <= time.time_ns())

    def test_list(self):
        lines = [json.loads(line) for line in
                 self.run_command('capture', '-D', '--json').splitlines()]
        mine = [line for line in lines if line['device'] == 'v1']
        self.assertEqual([(one['kind'], one['link'], one['state'], one['capture'])
                          for one in mine], [('network', 'Ethernet', 'up', 'yes')])
        self.assertIn('\nv1 ', self.run_command('capture', '-D'))


command.main()
