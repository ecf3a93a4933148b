# SPDX-License-Identifier: BSD-2-Clause
"""Output that cannot be written."""
import contextlib
import os
import struct
import subprocess

import command


class Output(command.CommandTest):
    def run_to(self, stdout, *arguments, **more):
        return subprocess.run([command.RPCRDMA, *arguments], stdout=stdout, stderr=subprocess.PIPE,
                              check=False, timeout=60, **more)

    def test_full_disk(self):
        for arguments in (['decode', command.capture()], ['decode', '--json', command.capture()],
                          ['connections', command.capture()], ['rpcs', command.capture()],
                          ['rpcs', '--summary', command.capture()], ['credits', command.capture()],
                          ['credits', '--json', command.capture()],
                          ['check', '-n', command.capture('roce-long-call')],
                          ['extract', '-w', '-', command.capture()],
                          ['fields'], ['fields', '--json'], ['--help'], ['--version'], ['help'],
                          ['decode', '--help'], ['capture', '--help'], ['help', 'capture'],
                          ['--extcap-interfaces'],
                          ['--extcap-config', '--extcap-interface', 'rpcrdma-x']):
            with open('/dev/full', 'wb') as full:
                run = self.run_to(full, *arguments)
            self.assertEqual((run.returncode, run.stderr.decode()),
                             (2, 'rpcrdma: standard output: No space left on device\n'))

    def test_full_disk_listing(self):
        """What there is to capture from may have to be left unsaid, but that is said."""
        for arguments in (['capture', '-D'], ['capture', '-D', '--json']):
            if not self.run_to(subprocess.PIPE, *arguments).stdout:
                self.skipTest('nothing to list')
            with open('/dev/full', 'wb') as full:
                run = self.run_to(full, *arguments)
            self.assertEqual(run.returncode, 2)
            self.assertIn('rpcrdma: standard output: No space left on device\n', run.stderr.decode())

    def test_full_disk_files(self):
        for arguments in (['capture', '-q', '-r', command.capture(), '-w', '/dev/full'],
                          ['extract', '-q', '-w', '/dev/full', command.capture()],
                          ['credits', '-q', '--series', '/dev/full', command.capture()]):
            run = self.run_to(subprocess.DEVNULL, *arguments)
            self.assertEqual((run.returncode, run.stderr.decode()),
                             (2, 'rpcrdma: /dev/full: No space left on device\n'))
        with open('/dev/full', 'wb') as full:
            run = self.run_to(full, 'capture', '-q', '-r', command.capture(), '-w', '-')
        self.assertEqual((run.returncode, run.stderr.decode()),
                         (2, 'rpcrdma: standard output: No space left on device\n'))

    def test_unusable_input_costs_no_result(self):
        bad = self.file(b'no capture of any kind')
        for arguments in (['extract', '-w', 'x.pcap'], ['credits', '--series', 'x.csv'], ['credits', '--plot', 'x.svg'],
                          ['report', '--html', 'x.html']):
            out = arguments[-1] = os.path.join(self.folder, arguments[-1])
            self.run_command(*arguments, '-q', command.capture())
            with open(out, 'rb') as file:
                result = file.read()
            for path in (bad, bad + '.none'):
                self.run_command(*arguments, path, status=2)
                with open(out, 'rb') as file:
                    self.assertEqual(file.read(), result, arguments)
            with open(out, 'ab') as file:
                file.write(bytes(1000))
            self.run_command(*arguments, '-q', command.capture())
            with open(out, 'rb') as file:
                self.assertEqual(file.read(), result, arguments)

    def test_input_that_is_not_there_makes_nothing(self):
        """It would be in the way of the next run, which has the right name."""
        out, none = os.path.join(self.folder, 'made.svg'), os.path.join(self.folder, 'none.pcap')
        bad = self.file(b'no capture of any kind')
        for arguments in (['export', '--csv', out], ['export', '--ndjson', out], ['export', '--sqlite', out],
                          ['export', '-b', 'duration:9', '--csv', out], ['export', '-j', '2', '--csv', out],
                          ['extract', '-d', out], ['extract', '-w', out], ['report', '--html', out],
                          ['credits', '--plot', out], ['credits', '--series', out], ['metrics', '--textfile', out],
                          ['sanitize', '-o', out], ['capture', '-w', out, '-r']):
            for path in none, bad:
                with self.subTest(arguments, path=path):
                    self.run_command(*arguments, path, status=2)
                    self.assertFalse(os.path.exists(out))
        for arguments in (['export', '--csv', out], ['export', '--ndjson', out, '-b', 'duration:9'], ['export', '--sqlite', out],
                          ['extract', '-d', out], ['extract', '-w', out], ['report', '--html', out],
                          ['credits', '--plot', out], ['credits', '--series', out], ['metrics', '--textfile', out],
                          ['capture', '-w', out], ['capture', '--slice', '-w', out]):
            with self.subTest(arguments):
                self.run_command(*arguments, '-i', 'nosuchdevice', status=2, errors=1)
                self.assertFalse(os.path.exists(out))
        self.run_command('extract', '-d', out, none, command.capture(), status=2, errors=1)  # what there is is written
        self.assertGreater(len(os.listdir(out)), 1)

    def test_folder_that_cannot_be_written(self):
        """That is said before a packet is read, to root as well, who gives its rights up for the last step."""
        folder = os.path.join(self.folder, 'kept')
        os.mkdir(folder, 0o555)
        path = os.path.join(folder, 'out.db')
        self.run_command('export', '--sqlite', path, command.capture(), status=2)
        self.assertEqual(self.stderr, f'rpcrdma: {path}: Permission denied\n')
        self.assertEqual(os.listdir(folder), [])

    def test_closed_output(self):
        run = subprocess.run(f'"{command.RPCRDMA}" decode "{command.capture()}" >&-', shell=True,
                             capture_output=True, check=False)
        self.assertEqual(run.returncode, 2)
        self.assertIn(b'standard output: Bad file descriptor', run.stderr)

    def test_closed_input(self):
        for arguments in ('decode -', 'check -', 'sanitize -o - -', 'capture -r - -w -', 'export --ndjson - -'):
            run = subprocess.run(f'"{command.RPCRDMA}" {arguments} <&-', shell=True, capture_output=True, check=False)
            self.assertEqual(run.returncode, 2)
            self.assertRegex(run.stderr.decode(), r'\Arpcrdma: standard input: .*Bad file descriptor\n')

    def test_reader_goes_away(self):
        """head(1) is no reason to complain, with SIGPIPE and where a parent ignores it."""
        for ignore in ('', 'trap "" PIPE; '):
            run = subprocess.run(
                ['bash', '-c', f'{ignore}"{command.RPCRDMA}" decode -V "{command.capture()}" | head -1'],
                capture_output=True, check=False)
            self.assertEqual((run.returncode, run.stderr), (0, b''))
            self.assertTrue(run.stdout.startswith(b'Frame '))

    def test_packets_that_nobody_reads(self):
        """Whoever read some packets has enough; where nobody was there, nothing could be written."""
        for arguments in (['capture', '-q', '-r', command.capture('roce-long-call'), '-w', '-'],
                          ['sanitize', '-q', '-o', '-', command.capture('roce-long-call')]):
            read, write = os.pipe()
            os.close(read)
            run = self.run_to(write, *arguments)
            os.close(write)
            self.assertEqual((run.returncode, run.stderr.decode()),
                             (2, 'rpcrdma: standard output: Broken pipe\n'), arguments)
            read, write = os.pipe()
            with subprocess.Popen([command.RPCRDMA, *arguments], stdout=write, stderr=subprocess.PIPE) as some:
                os.close(write)
                self.assertEqual(os.read(read, 4), b'\x0a\x0d\x0d\x0a')
                os.close(read)
                self.assertEqual((some.stderr.read(), some.wait(60)), (b'', 0), arguments)

    def test_reader_goes_away_before_packets(self):
        """sanitize has packets in hand, and has written none: that is no capture that it cannot take apart."""
        with open(command.capture('roce-long-call'), 'rb') as file:
            data = file.read()
        at, ends = 24, []
        for _ in range(30):
            at += 16 + struct.unpack('<I', data[at + 8:at + 12])[0]
            ends.append(at)
        for end in ends:
            read, write = os.pipe()
            with subprocess.Popen([command.RPCRDMA, 'sanitize', '-o', '-', '-'], stdin=subprocess.PIPE, stdout=write,
                                  stderr=subprocess.PIPE) as run:
                os.close(write)
                run.stdin.write(data[:end])
                run.stdin.flush()
                os.read(read, 4)
                os.close(read)
                with contextlib.suppress(BrokenPipeError):
                    run.stdin.write(data[end:])
                    run.stdin.close()
                self.assertNotIn(b'no RPC-over-RDMA', run.stderr.read())
                self.assertEqual(run.wait(60), 0)

    def test_reading_stops_with_the_reader(self):
        """An endless capture into a closed pipe ends."""
        header, packet = command.pcap_header(), command.pcap_packet(self.packets()[50].data)
        read, write = os.pipe()
        with subprocess.Popen([command.RPCRDMA, 'decode', '--qpn', '17', '-'], stdin=subprocess.PIPE,
                              stdout=write, stderr=subprocess.PIPE) as run:
            os.close(write)
            os.close(read)
            try:
                run.stdin.write(header)
                for _ in range(200000):
                    run.stdin.write(packet)
                    packet = bytearray(packet)
                    psn = int.from_bytes(packet[16 + 51:16 + 54], 'big') + 1
                    packet[16 + 51:16 + 54] = (psn & 0xffffff).to_bytes(3, 'big')
                self.fail('it never stopped')
            except BrokenPipeError:
                pass
            run.stdin = None
            self.assertEqual(run.stderr.read(), b'')
            run.wait(60)


command.main()
