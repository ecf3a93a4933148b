#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""command_test.py RPCRDMA CAPTURES PRELOAD: the command when memory ends, reads come short, and the file
grows under it."""
import os
import subprocess
import sys
import threading

PRELOAD = sys.argv.pop(3)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
# pylint: disable=wrong-import-position
import command

COMMANDS = [['decode'], ['decode', '--json'], ['rpcs', '--json'], ['credits'], ['check', '-q'], ['connections'], ['decode', '--cm']]


def with_preload(arguments, stdin=None, **environment):
    """`stdin`: what comes there, or a descriptor."""
    how = {'stdin': stdin} if isinstance(stdin, int) else {'input': stdin}
    return subprocess.run([command.RPCRDMA, *arguments], capture_output=True, check=False, timeout=120, **how,
                          env={**os.environ, 'LD_PRELOAD': PRELOAD, **environment})


class Faults(command.CommandTest):
    def fail_at(self, arguments, n):
        """The run, or None where there is no n-th allocation."""
        read, write = os.pipe()
        try:
            run = with_preload(arguments, stdin=write, FAULT_AT=str(n), FAULT_TELL='0')
            os.close(write)
            write = None
            return run if os.read(read, 1) else None
        finally:
            os.close(read)
            if write is not None:
                os.close(write)

    def test_memory(self):
        path = command.capture()
        for arguments in COMMANDS:
            clean = self.run_command(*arguments, path)
            failed = 0
            for n in range(1, 100000):
                run = self.fail_at([*arguments, path], n)
                if not run:
                    break
                failed += 1
                errors = run.stderr.decode().splitlines()
                self.assertEqual(run.returncode, 2, f'{arguments}, allocation {n}: {errors}')
                self.assertEqual(len(errors), 1, f'{arguments}, allocation {n}: {errors}')
                self.assertTrue(errors[0].startswith('rpcrdma: ') and 'out of memory' in errors[0], errors[0])
                if arguments[0] in ('decode', 'rpcs', 'check'):
                    self.assertTrue(clean.startswith(run.stdout.decode()), f'{arguments}, allocation {n}')
            self.assertGreater(failed, 3, f'{arguments}: nothing failed, nothing was tested')

    def test_short_reads(self):
        with open(command.capture(), 'rb') as f:
            data = f.read()
        for arguments in COMMANDS:
            clean = self.run_command(*arguments, command.capture(), errors=0)
            for most in ('1', '7', '4096'):
                run = with_preload([*arguments, '-'], stdin=data, FAULT_READS=most)
                self.assertEqual((run.returncode, run.stderr), (0, b''))
                self.assertEqual(run.stdout.decode(), clean, f'{arguments}, {most} bytes a read')

    def large(self):
        """Large enough to be read ahead by a thread: packets, and where each begins. The calls are the
        same over and over; only that nothing is lost, twice or in another order matters."""
        with open(command.capture(), 'rb') as f:
            data = f.read()
        begins, at = [], 24
        while at < len(data):
            begins.append(at)
            at += 16 + int.from_bytes(data[at + 8:at + 12], 'little')
        times = 6_000_000 // len(data) + 1
        begins = [begin + i * (len(data) - 24) for i in range(times) for begin in begins]
        return data[:24] + data[24:] * times, begins

    def test_short_reads_ahead(self):
        data, _ = self.large()
        path = self.file(data)
        clean = self.run_command('decode', path, errors=1) # that time goes back
        for most in ('1000', '65536', '200001'):
            run = with_preload(['decode', path], FAULT_READS=most)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(run.stdout.decode(), clean, f'{most} bytes a read')

    def test_processors(self):
        """With one there is no thread that reads ahead; the output is the same, of several files, too."""
        data, begins = self.large()
        paths = [self.file(data, 'one'), self.file(data[:24] + data[begins[500]:], 'other')]
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest('one processor')
        for files in paths[:1], paths:
            outputs = [subprocess.run([command.RPCRDMA, 'decode', *files], capture_output=True, check=True,
                                      timeout=120, preexec_fn=limit).stdout
                       for limit in (None, lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}))]
            self.assertGreater(len(outputs[0]), 10000)
            self.assertEqual(*outputs)

    def test_unreadable(self):
        """All packets before the byte that the disk does not give are there, and that is said."""
        data, begins = self.large()
        path = self.file(data)
        for byte in (30_000, 256 * 1024, 2 * 1024 * 1024 - 1, 2 * 1024 * 1024 + 24, 4 * 1024 * 1024,
                     len(data) - 1):
            run = with_preload(['decode', path], FAULT_BYTE=str(byte))
            self.assertEqual(run.returncode, 2)
            self.assertIn(f'{path}: byte {byte}: Input/output error'.encode(), run.stderr)
            whole = max(begin for begin in begins if begin <= byte)
            part = self.run_command('decode', self.file(data[:whole], 'part'),
                                    errors=int(whole > os.path.getsize(command.capture())))
            # the packet of which the end is missing may give one line more
            self.assertTrue(run.stdout.decode().startswith(part), f'byte {byte}')
            self.assertLessEqual(run.stdout.decode()[len(part):].count('\n'), 1, f'byte {byte}')

    def test_growing_file(self):
        """What is there is read, or what is there up to a packet that is not there whole; never a line
        that the whole file does not have."""
        clean = self.run_command('decode', command.capture())
        with open(command.capture(), 'rb') as f:
            data = f.read()
        for start in (24, 1000, len(data) // 2, len(data) - 100):
            path = self.file(data[:start])

            def grow(path=path, start=start):
                with open(path, 'ab', buffering=0) as out:
                    for at in range(start, len(data), 331):
                        out.write(data[at:at + 331])

            thread = threading.Thread(target=grow)
            thread.start()
            run = subprocess.run([command.RPCRDMA, 'decode', path], capture_output=True, check=False,
                                 timeout=120)
            thread.join()
            self.assertIn(run.returncode, (0, 2), run.stderr)
            if run.returncode == 2:
                self.assertIn(b'cut short', run.stderr)
            lines = run.stdout.decode().splitlines()
            if run.returncode == 2:  # the packet that is not there whole is given, and says so
                lines = lines[:-2]
            for ours, whole in zip(lines, clean.splitlines()):
                self.assertEqual(ours, whole)
            self.assertLessEqual(len(lines), len(clean.splitlines()))


if __name__ == '__main__':
    command.main()
