# SPDX-License-Identifier: BSD-2-Clause
"""The command on an RDMA device: every packet, or the word that it was lost."""
import json
import os
import re
import signal
import time
import unittest

import standin

# pylint: disable=wrong-import-order
import command
import ngfile

IFDROP, OSDROP = 5, 7
NAP_NS = 500000  # VERBS_NAP_NS


class Verbs(standin.DeviceTest):
    def check(self, *packets):
        file = ngfile.read(self.out)
        self.assertEqual([p.data for p in file.packets], [p.data for p in packets])
        self.assertEqual([p.length for p in file.packets], [len(p.data) for p in packets])
        return file

    def test_packet_for_packet(self):
        for name in ('roce-nfs3-mini', 'roce-nfs41-callback'):
            for how in (signal.SIGINT, signal.SIGTERM):
                said, err = self.capture('-i', 'standin0', CAPTURE=command.capture(name), how=how)
                self.assertEqual(said['dropped'] + said['failed'], 0)
                file = self.check(*self.packets(name))
                self.assertRegex(err, r'standin0: how many packets were lost is not known')
                self.assertEqual(file.statistics[0].get(OSDROP), None)  # unknown is not 0
                one = file.interfaces[0]
                self.assertEqual((one.name, one.linktype), ('standin0', 1))
                self.assertIn("host's clock", one.comment)

    def test_adapters_clock(self):
        for more in ((), ('--slice',)):
            self.capture('-q', '-i', 'standin0', *more, CLOCK=1)
            file = ngfile.read(self.out)
            self.assertEqual([p.time_ns for p in file.packets],
                             [p.time_ns for p in self.packets()])
            self.assertIn("adapter's clock", file.interfaces[0].comment)

    def test_clock_is_set(self):
        """Amid the capture, back and forth: each packet is there with the time it was given, each RPC is found, and
        files of a ring begin by another clock."""
        packets = self.packets()
        third, path = len(packets) // 3, os.path.join(self.folder, 'stepped.pcap')
        for steps in ((-3600, 86400), (86400, -3600), (-1, 0)):
            stepped = [packet._replace(time_ns=packet.time_ns + (0, *steps)[min(i // third, 2)] * 10**9)
                       for i, packet in enumerate(packets)]
            self.assertEqual(len({p.time_ns - q.time_ns for p, q in zip(packets, stepped)}), 2 + (steps[1] != 0))
            command.pcap.write(path, stepped)
            for more in ((), ('--slice',), ('-b', 'duration:60')):
                with self.subTest(steps=steps, more=more):
                    _, err = self.capture('-i', 'standin0', *more, CLOCK=1, CAPTURE=path)
                    name, = (n for n in os.listdir(self.folder) if n.startswith('out'))
                    name = os.path.join(self.folder, name)
                    self.assertEqual([p.time_ns for p in ngfile.read(name).packets], [p.time_ns for p in stepped])
                    self.assertIn(f'{len(packets)} packets written', err)
                    self.assertEqual([json.loads(line)['xid'] for line in
                                      self.run_command('rpcs', '--json', name, errors=1).splitlines()],
                                     [json.loads(line)['xid'] for line in
                                      self.run_command('rpcs', '--json', command.capture()).splitlines()])
                    self.run_command('rpcs', name, errors=1)
                    self.assertIn('the clock of the capture was set back 1 time', self.stderr)
                    os.unlink(name)

    def test_infiniband(self):
        self.capture('-q', '-i', 'standin0', LINK='infiniband')
        self.assertEqual(self.check(*self.packets()).interfaces[0].linktype, 247)

    def test_jumbo_frames(self):
        packets = [command.pcap.Packet(i + 1, i, bytes([i]) * size, size)
                   for i, size in enumerate((60, 4200, 9018, 9216, 10240))]
        path = os.path.join(self.folder, 'jumbo.pcap')
        command.pcap.write(path, packets)
        self.capture('-q', '-i', 'standin0', CAPTURE=path)
        self.check(*packets)

    def test_nothing_lost_is_zero(self):
        """Where the device counts, 0 is said."""
        _, err = self.capture('-i', 'standin0', SYSFS=self.sysfs())
        self.assertEqual(self.check(*self.packets()).statistics[0][OSDROP], 0)
        self.assertNotIn('lost', err)

    def test_overrun(self):
        """Faster than anybody takes them: every packet is in the file or in the count."""
        said, err = self.capture('-i', 'standin0', SYSFS=self.sysfs(), MAX_WR=16, RATE=0, LOOPS=200,
                                 PATIENCE=0)
        file = ngfile.read(self.out)
        self.assertGreater(said['dropped'], 0)
        self.assertEqual(file.statistics[0][OSDROP], said['dropped'])
        self.assertEqual(len(file.packets) + said['dropped'], said['played'])
        self.assertRegex(err, rf'standin0: {said["dropped"]} packets were lost')

    def test_failed_receives(self):
        """They are counted and their buffers used again: the ring does not run dry."""
        for clock in (0, 1):
            said, err = self.capture('-i', 'standin0', FAIL_EVERY=3, MAX_WR=512, CLOCK=clock,
                                     LOOPS=4)
            packets = self.packets() * 4
            self.assertGreater(len(packets) // 3, 512)
            self.assertEqual((said['dropped'], said['failed']), (0, len(packets) // 3))
            file = self.check(*[p for i, p in enumerate(packets, 1) if i % 3])
            self.assertEqual(file.statistics[0][IFDROP], said['failed'])
            self.assertNotIn(OSDROP, file.statistics[0])
            self.assertIn('not known', err)

    def test_device_is_removed(self):
        for more in ((), ('--slice',)):
            _, err = self.capture('-q', '-i', 'standin0', *more, REMOVE=300, status=2, how=None)
            self.assertEqual(err, 'rpcrdma: standin0: the device was removed, or reports a fatal '
                                  'error\n')
            self.assertEqual(len(ngfile.read(self.out).packets), 300)

    def test_ended_between_files(self):
        """Whenever it ends, each file of a ring is whole, and the count is theirs."""
        for i in range(4):
            ring = os.path.join(self.folder, f'ring{i}.pcapng')
            run = self.start('capture', '-i', 'standin0', '-w', ring, '-b', 'filesize:4',
                             RATE=4000, LOOPS=100)
            time.sleep(0.6 + i * 0.031)
            run.send_signal((signal.SIGINT, signal.SIGTERM)[i % 2])
            err = run.communicate(timeout=60)[1].decode()
            self.assertEqual(run.returncode, 0, err)
            files = [ngfile.read(os.path.join(self.folder, name))
                     for name in os.listdir(self.folder) if name.startswith(f'ring{i}_')]
            self.assertIn(f'{sum(len(file.own()) for file in files)} packets written', err)
            if len(files) > 1:  # a machine that is late may not come so far
                self.assertIn(f' in {len(files)} files', err)

    def test_two_devices(self):
        self.capture('-q', '-i', 'standin0', '-i', 'standin1', DEVICES='standin0,standin1')
        file = ngfile.read(self.out)
        self.assertEqual([one.name for one in file.interfaces], ['standin0', 'standin1'])
        for number in (0, 1):
            got = [p.data for p in file.packets if p.interface == number]
            want = [p.data for p in self.packets()]
            self.assertEqual(got[:len(want) - 50], want[:len(want) - 50])

    def test_ports(self):
        self.capture('-q', '-i', 'standin0:2', PORTS=2)
        self.check(*self.packets())
        self.assertEqual(self.refused('-i', 'standin0:3', PORTS=2),
                         'standin0:3: its port cannot be asked: Invalid argument; if the adapter '
                         'cannot sniff, mirror the port at the switch')

    def test_filter_and_snaplen(self):
        self.capture('-q', '-i', 'standin0', '-f', 'udp port 4791', '-s', '99')
        want = [p for p in self.packets() if p.data[12:14] == b'\x08\x00' and p.data[23] == 17 and
                p.data[36:38] == (4791).to_bytes(2, 'big')]
        self.assertEqual([(p.data, p.length) for p in ngfile.read(self.out).packets],
                         [(p.data[:99], len(p.data)) for p in want])

    def test_live_analysis(self):
        """decode, rpcs and credits say of the device what they say of the file."""
        for what in ('decode', 'rpcs'):
            run = self.start(what, '--json', '-i', 'standin0', CLOCK=1, SYSFS=self.sysfs(what))
            self.played()
            time.sleep(0.5)
            run.send_signal(signal.SIGINT)
            out, err = run.communicate(timeout=60)
            os.unlink(self.report)
            self.assertEqual(run.returncode, 0, err)
            self.assertEqual(out.decode(), self.run_command(what, '--json', command.capture()))

    def test_little_locked_memory(self):
        """Fewer receives, and every packet still."""
        self.capture('-q', '-i', 'standin0', MEMLOCK=1 << 20)
        file = self.check(*self.packets())
        receives = int(re.search(r'(\d+) receives', file.interfaces[0].description)[1])
        self.assertTrue(16 <= receives <= (1 << 20) // 10240)

    def refused(self, *arguments, **settings):
        run = self.start('capture', '-w', self.out, *arguments, **settings)
        out, err = run.communicate(timeout=60)
        self.assertEqual((run.returncode, out), (2, b''))
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertTrue(err.startswith(b'rpcrdma: '))
        return err.decode()[len('rpcrdma: '):].rstrip('\n')

    def test_refusals(self):
        """As each driver gives them: where, why, and what to do."""
        for driver, step, number, says in (
                ('mlx5_core', 'flow', 95, ('sniffer rule', 'not supported', 'switchdev')),
                ('mlx5_core', 'flow', 22, ('sniffer rule', 'Invalid argument', 'mlx5_core')),
                ('mlx4_core', 'flow', 12, ('sniffer rule', 'log_num_mgm_entry_size=-1')),
                ('bnxt_en', 'flow', 95, ('sniffer rule', 'RoCE mirroring')),
                ('irdma', 'qp', 95, ('raw packet queue pair', 'no sniffing')),
                ('hfi1', 'qp', 22, ('raw packet queue pair', 'mirror the port')),
                ('mlx5_core', 'flow', 16, ('busy', 'capturing already')),
                ('mlx5_core', 'memory', 12, ('ulimit -l',)),
                ('mlx5_core', 'cq', 12, ('completion queue',)),
                ('mlx5_core', 'modify', 22, ('raw packet queue pair',)),
                ('mlx5_core', 'post', 12, ('raw packet queue pair',)),
                ('mlx5_core', 'open', 13, ('no permission', 'setcap cap_net_raw+ep')),
                *(('mlx5_core', step, -1, ('Input/output error',)) # with errno left as it was
                  for step in ('open', 'memory', 'cq', 'qp', 'flow')),
                ('mlx5_core', 'qp', 1, ('no permission', 'setcap cap_net_raw+ep')),
                ('mlx5_core', 'flow', 1, ('no permission', 'setcap cap_net_raw+ep'))):
            name = f'{driver}{step}{number}'
            line = self.refused('-i', name, DEVICES=name, SYSFS=self.sysfs(name, driver),
                                REFUSE=f'{step}:{number}')
            self.assertTrue(line.startswith(name + ': '), line)
            for word in says:
                self.assertIn(word.lower(), line.lower())
        line = self.refused('-i', 'rxe0', DEVICES='rxe0', SYSFS=self.sysfs('rxe0', None, 'eth7'),
                            REFUSE='qp:95')
        self.assertIn('-i eth7', line)
        line = self.refused('-i', 'mine', DEVICES='mine', SYSFS=self.sysfs('mine', None, 'eth8'),
                            REFUSE='qp:95')  # whatever its name is
        self.assertIn('is software: capture from its network interface, -i eth8', line)
        self.assertIn('"nonsense ', self.refused('-i', 'standin0', '-f', 'nonsense ('))

    def test_list(self):
        sysfs = self.sysfs('mlx5_0', 'mlx5_core', 'eth3')
        self.sysfs('irdma0', 'irdma', 'eth4')
        run = self.start('capture', '-D', '--json', DEVICES='mlx5_0', SYSFS=sysfs)
        one = json.loads(run.communicate(timeout=60)[0].splitlines()[0])
        self.assertEqual(one, {'device': 'mlx5_0', 'kind': 'rdma', 'link': 'Ethernet',
                               'state': 'up', 'speed': '100 Gb/s', 'capture': 'yes',
                               'about': 'mlx5_core, eth3'})
        run = self.start('capture', '-D', '--json', DEVICES='irdma0', SYSFS=sysfs,
                         REFUSE='qp:95')
        one = json.loads(run.communicate(timeout=60)[0].splitlines()[0])
        self.assertTrue(one['capture'].startswith('a raw packet queue pair is refused'), one)

    def test_interface_of_an_iwarp_device(self):
        """Found by its address, where the kernel does not tell."""
        for name in sorted(os.listdir('/sys/class/net')):
            with open(f'/sys/class/net/{name}/address', encoding='ascii') as file:
                address = file.read().strip().split(':')
            if len(address) == 6 and set(address) != {'00'} and \
                    os.path.exists(f'/sys/class/net/{name}/device'):
                break
        else:
            raise unittest.SkipTest('no network interface that is a device')
        gid = ':'.join(address[i] + address[i + 1] for i in (0, 2, 4)) + 5 * ':0000'
        line = self.refused('-i', 'siw0', DEVICES='siw0', REFUSE='qp:95', RNIC=1,
                            SYSFS=self.sysfs('siw0', gid=gid))
        self.assertTrue(line.endswith(f'-i {name}'), line)
        run = self.start('capture', '-D', '--json', DEVICES='siw0', REFUSE='qp:95', RNIC=1,
                         SYSFS=os.path.join(self.folder, 'sys'), SPEED=1)
        one = json.loads(run.communicate(timeout=60)[0].splitlines()[0])
        self.assertEqual((one['about'], one['speed']), (f'siw, {name}', '2.5 Gb/s'))

    def test_no_processor_when_idle(self):
        """Nothing comes: the program sleeps."""
        run = self.start('capture', '-q', '-i', 'standin0', '-w', self.out)
        self.played()
        time.sleep(0.2)

        def ticks():
            with open(f'/proc/{run.pid}/stat', encoding='ascii') as file:
                return sum(int(word) for word in file.read().rsplit(')', 1)[1].split()[11:13])
        before = ticks()
        time.sleep(2)
        self.assertLessEqual(ticks() - before, 2)
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=60)

    def test_many_at_once(self):
        """With the adapter's clock packets wait for each other; without, each is taken at once."""
        rest = []
        for clock in (1, 0):
            said, _ = self.capture('-q', '-i', 'standin0', CLOCK=clock, RATE=5000, LOOPS=20)
            rest.append(said['rest'])
            self.check(*self.packets() * 20)
        self.assertGreaterEqual(rest[0], NAP_NS)
        self.assertGreater(rest[1], 0)
        self.assertLess(rest[1], NAP_NS)

    def triggered(self):
        """What was written: files, in order."""
        names = sorted(n for n in os.listdir(self.folder) if re.fullmatch(r'out_\d{5}_\d{14}\.pcapng', n))
        return [ngfile.read(os.path.join(self.folder, name)) for name in names]

    def test_trigger(self):
        """Nothing is written until it is met; then what was before and after, by the packets' clock."""
        self.capture('-i', 'standin0', '--trigger', 'latency_ns > 1h', CLOCK=1)
        self.assertEqual([n for n in os.listdir(self.folder) if n.endswith('pcapng')], [])
        self.capture('-i', 'standin0', '--trigger', 'name == WRITE', '--pre', '1h', '--post', '1h',
                     CLOCK=1)
        file, = self.triggered()
        self.assertEqual([p.data for p in file.packets], [p.data for p in self.packets()])
        self.assertRegex(file.comment, r"--trigger 'name == WRITE': connection 1, XID 0x[0-9a-f]{8}, WRITE")

    def test_trigger_ends_in_silence(self):
        """A file ends when --post has passed, also where no packet comes any more."""
        run = self.start('capture', '-q', '-i', 'standin0', '-w', self.out, '--trigger',
                         'state != open', '--pre', '1h', '--post', '200ms')
        self.played()
        time.sleep(3)
        before = os.stat(os.path.join(self.folder, [n for n in os.listdir(self.folder)
                                                    if n.endswith('pcapng')][0]))
        self.assertIn(0, self.triggered()[0].statistics)  # its end is written
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=60)
        after = os.stat(os.path.join(self.folder, [n for n in os.listdir(self.folder)
                                                   if n.endswith('pcapng')][0]))
        self.assertEqual((before.st_size, before.st_mtime), (after.st_size, after.st_mtime))

    def test_trigger_loses_nothing_uncounted(self):
        """Faster than anybody takes them: every packet is in the file or in its count. The first 64, with a whole RPC, are
        taken in any case, and may all have one time."""
        said, _ = self.capture('-i', 'standin0', '--trigger', 'latency_ns >= 0', '--pre', '1h',
                               '--post', '1h', SYSFS=self.sysfs(), MAX_WR=64, RATE=0, LOOPS=100,
                               PATIENCE=0)
        file, = self.triggered()
        self.assertGreater(said['dropped'], 0)
        self.assertEqual(file.statistics[0][OSDROP], said['dropped'])
        self.assertEqual(len(file.packets) + said['dropped'], said['played'])

    def test_file_grows(self):
        """What was captured is in the file within a second or so, whatever comes then."""
        for more in ((), ('--slice',)):
            run = self.start('capture', '-q', '-i', 'standin0', '-w', self.out, *more)
            self.played()
            time.sleep(2.5)
            self.assertEqual(len(ngfile.read(self.out).packets), len(self.packets()))
            os.unlink(self.report)
            run.send_signal(signal.SIGTERM)
            run.communicate(timeout=60)


command.main()
