# SPDX-License-Identifier: BSD-2-Clause
"""A live pipe: lines come when their packets do, and ^C sums up."""
import os
import select
import signal
import struct
import subprocess
import time

import command


class Live(command.CommandTest):
    def start(self, *arguments):
        return subprocess.Popen([command.RPCRDMA, *arguments, '-'], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def records(self):
        return [struct.pack('<4I', *divmod(one.time_ns // 1000, 10**6), len(one.data), one.length) + one.data
                for one in self.packets()]

    def test_lines_come_with_their_packets(self):
        records = self.records()
        with self.start('decode', '--json') as run:
            run.stdin.write(command.pcap_header() + b''.join(records[:60]) + records[60][:30])
            run.stdin.flush()
            shown, deadline = b'', time.monotonic() + 60
            while shown.count(b'\n') < 9 and time.monotonic() < deadline:
                if select.select([run.stdout], [], [], 1)[0]:
                    shown += os.read(run.stdout.fileno(), 65536)
            self.assertEqual(shown.count(b'\n'), 9)
            run.stdin.write(records[60][30:] + b''.join(records[61:]))
            run.stdin.close()
            shown += run.stdout.read()
            self.assertEqual(run.stderr.read(), b'')
            self.assertEqual(run.wait(60), 0)
        whole = self.run_command('decode', '--json', command.capture())
        self.assertEqual(shown.count(b'\n'), whole.count('\n'))

    @staticmethod
    def wait_for_handler(pid):
        """Until the process catches SIGINT: proc(5)."""
        caught, deadline = 0, time.monotonic() + 60
        while not caught & 1 << (signal.SIGINT - 1) and time.monotonic() < deadline:
            time.sleep(0.02)
            with open(f'/proc/{pid}/status', encoding='ascii') as file:
                caught = int(next(line for line in file if line.startswith('SigCgt')).split()[1], 16)

    def test_interrupt(self):
        """The first SIGINT waits for the writer, which got it too; the second does not wait, but for one that comes at
        once, as timeout(1) signals a process and its group."""
        records = self.records()
        for second, after in ((False, None), (False, 0), (True, 1)):
            with self.start('connections') as run:
                run.stdin.write(command.pcap_header() + b''.join(records[:100]))
                run.stdin.flush()
                self.wait_for_handler(run.pid)
                run.send_signal(signal.SIGINT)
                time.sleep(0.2 if after is None else after)
                if after is not None:
                    run.send_signal(signal.SIGINT)
                    time.sleep(0 if second else 0.2)
                if second:
                    self.assertEqual(run.wait(60), -signal.SIGINT)
                    continue
                self.assertIsNone(run.poll())
                run.stdin.write(records[100])
                run.stdin.close()
                self.assertIn(b'frames 40-101', run.stdout.read())
                self.assertEqual(run.stderr.read(), b'')
                self.assertEqual(run.wait(60), 0)


command.main()
