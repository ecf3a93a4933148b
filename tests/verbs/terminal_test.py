# SPDX-License-Identifier: BSD-2-Clause
"""What a terminal is told during a capture: one line, as wide as it is, that makes way at the end."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

import standin

# pylint: disable=wrong-import-order
import command
import ngfile

FIRST = r'\A0:00:00  \d+ packets'
LAST = re.compile(r'(?m)^rpcrdma: (\d+) packets written, \d+ bytes$')


def screen(text, columns):
    """The lines that a terminal of this width shows at the end, and those that wrapped."""
    lines, column, wrapped = [''], 0, 0
    for c in text:
        if c == '\r':
            column = 0
        elif c == '\n':
            lines.append('')
            column = 0
        else:
            if column == columns:
                lines.append('')
                column, wrapped = 0, wrapped + 1
            lines[-1] = lines[-1][:column].ljust(column) + c + lines[-1][column + 1:]
            column += 1
    return [line.rstrip() for line in lines if line.strip()], wrapped


class Terminal(standin.DeviceTest):
    def on_terminal(self, *arguments, columns=80, lines=3, then=None, **settings):
        """(status, what came to the terminal). ^C after so many lines; `then` columns from the
        second on. Without lines ^C comes when it captures."""
        master, slave = pty.openpty()
        self.resize(master, columns)
        settings = {'LOOPS': 1000, 'RATE': 2000, **settings}
        run = subprocess.Popen([command.RPCRDMA, 'capture', '-i', 'standin0', '-w', self.out,
                                *arguments], stdin=slave, stdout=slave, stderr=slave,
                               start_new_session=True, env=self.environment(settings),
                               preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        begin, text, end = time.monotonic(), b'', False
        while True:
            if select.select([master], [], [], 0.05)[0]:
                try:
                    text += os.read(master, 65536)
                except OSError:  # all of its other ends are closed
                    break
            if then and text.count(b'\r') == 2:
                self.resize(master, then)
                then = None
            enough = text.count(b'\r') >= lines if lines else os.path.exists(self.report)
            if not end and (enough or time.monotonic() > begin + 60):
                os.write(master, b'\x03')
                end = True
        os.close(master)
        return run.wait(60), text.decode().replace('\r\n', '\n')

    @staticmethod
    def resize(terminal, columns):
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))

    def parts(self, text):
        """What was written over each other, and what came behind."""
        shown, _, behind = text.rpartition('\r')
        return [part.rstrip() for part in shown.split('\r') if part.strip(' ^C')], behind

    def test_line(self):
        status, text = self.on_terminal(SYSFS=self.sysfs())
        self.assertEqual(status, 0)
        shown, behind = self.parts(text)
        self.assertRegex(shown[0], FIRST + r', 0/s, 0 lost, \d+ messages(, \d+/\d+ credits)?\Z')
        self.assertRegex(shown[1], r'\A0:00:0[1-9]  \d+ packets, \d+/s, 0 lost, \d+ messages, '
                                   r'\d+/\d+ credits')
        rate = int(re.search(r'(\d+)/s', shown[1])[1])
        self.assertTrue(500 < rate < 2500, rate)
        self.assertGreater(int(re.search(r'(\d+) messages', shown[1])[1]), 100)
        lines, wrapped = screen(text, 80)
        self.assertEqual((len(lines), wrapped), (1, 0))  # it left no trace
        written = int(LAST.match(behind)[1])
        self.assertEqual(len(ngfile.read(self.out).packets), written)
        self.assertEqual(written, int(LAST.match(lines[0])[1]))

    def test_nothing_comes(self):
        _, text = self.on_terminal(lines=4, LOOPS=1, RATE=0)
        shown, _ = self.parts(text)
        self.assertEqual(shown[3], '0:00:03  511 packets, 0/s, ? lost, 136 messages, 0/64 credits^C')

    def test_what_is_not_known(self):
        _, text = self.on_terminal(lines=1)
        self.assertIn(', ? lost, ', self.parts(text)[0][0])

    def test_narrow(self):
        """Whole items, as many as fit; the width is looked at each time."""
        for columns, then, want in ((40, None, r'\A0:00:0[1-9]  \d+ packets, \d+/s, \? lost\Z'),
                                    (24, None, r'\A0:00:0[1-9]  \d+ packets\Z'),
                                    (30, 80, r'messages')):
            _, text = self.on_terminal(columns=columns, then=then)
            progress = text[:text.rindex('\r')].replace('^C', '')
            self.assertEqual(screen(progress, max(columns, then or 0))[1], 0)
            self.assertRegex(self.parts(text)[0][2 if then else 1], want)

    def test_quiet(self):
        self.assertEqual(self.on_terminal('-q', lines=0), (0, '^C'))

    def test_complaint(self):
        """It has a line of its own."""
        status, text = self.on_terminal(REMOVE=3000, lines=100)
        self.assertEqual(status, 2)
        lines, _ = screen(text, 80)
        self.assertEqual(lines[0], 'rpcrdma: standin0: the device was removed, or reports a fatal '
                                   'error')
        self.assertEqual(int(LAST.match(lines[2])[1]), 3000)

    def test_no_terminal(self):
        _, err = self.capture('-i', 'standin0')
        self.assertNotIn('\r', err)
        self.assertEqual(len(err.splitlines()), 2)


command.main()
