# SPDX-License-Identifier: BSD-2-Clause
"""What a person at a terminal sees: pages, colors, lines that fit, progress."""
import bz2
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import unicodedata

import command
from nfs_talk import Nfs

def columns_of(text):
    return sum(0 if unicodedata.category(one) in ('Mn', 'Me', 'Cf') else 1 + (unicodedata.east_asian_width(one) in 'WF')
               for one in text)


STYLE = re.compile('\x1b\\[[0-9;]*m')


def begins(name):
    """What a table may show first of an operation: a COMPOUND without the operations that most begin with."""
    short = re.sub(r'(NFS V4 |NFS4_CALLBACK V1 )(?:CB_)?SEQUENCE\+', '\\1\u2026', name)
    shorter = re.sub('\u2026PUT(?:ROOT)?FH\\+', '\u2026', short)
    return {one[:11] for one in (name, short, shorter)}


class Terminal(command.CommandTest):
    def run_on(self, *arguments, columns=80, until=None, stdout=True, **environment):
        """Exit status and what the terminal got of standard output (stdout) and error."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
        kept = {key: value for key, value in os.environ.items()
                if key not in ('PAGER', 'LESS', 'NO_COLOR')}
        run = subprocess.Popen([command.RPCRDMA, *arguments], stdin=slave, stderr=slave,
                               stdout=slave if stdout else subprocess.DEVNULL,
                               env={**kept, 'TERM': 'xterm', **environment})
        os.close(slave)
        text = b''
        while True:  # as long as it takes: ctest has a limit
            try:
                text += os.read(master, 65536)
            except OSError:  # nobody has the other end any more
                break
            if until and re.search(until, text):
                run.send_signal(signal.SIGKILL)
        os.close(master)
        return run.wait(), text.decode().replace('\r\n', '\n')

    def test_pager(self):
        lines = self.run_command('decode', command.capture()).splitlines()
        status, text = self.run_on('decode', command.capture(), columns=500, PAGER='sed s/^/page:/')
        self.assertEqual((status, text.splitlines()), (0, ['page:' + line for line in lines]))
        _, text = self.run_on('decode', command.capture(), PAGER='echo "$LESS"; wc -l')
        self.assertEqual(text.split(), ['FRX', str(len(lines))])
        _, text = self.run_on('decode', command.capture(), PAGER='echo "$LESS"', LESS='M')
        self.assertEqual(text.split(), ['M'])

    def test_pager_has_one_pipe(self):
        _, text = self.run_on('decode', command.capture(), PAGER='ls -l /proc/$$/fd')
        self.assertEqual(text.count('pipe:'), 1, text)

    def test_pager_ends_early(self):
        status, text = self.run_on('decode', '-V', command.capture(), PAGER='head -n 1')
        self.assertEqual((status, len(text.splitlines())), (0, 1))

    def test_pager_and_status(self):
        """The exit status is the command's, once the pager's reader has gone."""
        status, text = self.run_on('check', command.capture('roce-long-call'), '-n', '--fail-on',
                                   'note', PAGER='sleep 1; cat >/dev/null; echo over')
        self.assertEqual((status, text.splitlines()[-1]), (1, 'over'))

    def test_no_pager(self):
        for arguments, settings in ((('--no-pager',), {'PAGER': 'echo page'}), ((), {'PAGER': ''}),
                                    ((), {'PAGER': 'cat'}), ((), {'PAGER': 'no-such-program'})):
            _, text = self.run_on('decode', *arguments, command.capture(), **settings)
            self.assertNotIn('page', text)
            self.assertEqual(len(text.splitlines()),
                             len(self.run_command('decode', command.capture()).splitlines()))

    def test_color(self):
        path = command.capture('roce-long-call')
        plain = self.run_command('check', '-n', path, status=1)
        status, text = self.run_on('check', '-n', path, columns=2000, PAGER='cat')
        self.assertRegex(text, '\x1b\\[33m\\[warning [^\\n]*\\]\x1b\\[0m\\n')
        self.assertEqual((status, STYLE.sub('', text)), (1, plain))
        for arguments, settings in ((('--color=never',), {}), ((), {'NO_COLOR': '1'}),
                                    ((), {'TERM': 'dumb'}), (('--json',), {})):
            _, text = self.run_on('check', '-n', *arguments, path, PAGER='cat', **settings)
            self.assertNotIn('\x1b', text)
        self.assertNotIn('\x1b', plain)
        always = self.run_command('check', '-n', '--color=always', path, status=1)
        self.assertIn('\x1b[33m', always)
        self.assertEqual(STYLE.sub('', always), plain)
        self.run_command('check', '--color=perhaps', path, status=2)

    def test_lines_fit(self):
        """They are cut, or folded; no character is lost then."""
        for columns in (40, 79, 80, 132):
            _, text = self.run_on('decode', command.capture(), columns=columns, PAGER='cat')
            lines = STYLE.sub('', text).splitlines()
            self.assertLessEqual(max(map(len, lines)), columns)
            for line, whole in zip(lines, self.run_command('decode', command.capture()).splitlines()):
                self.assertEqual(line, whole if len(whole) <= columns else whole[:columns - 1] + '\u2026')
            for arguments in (('connections',), ('check', '-n'), ('rules', 'chunk')):
                if arguments[0] != 'rules':
                    arguments += (command.capture('roce-long-call'),)
                _, text = self.run_on(*arguments, columns=columns, PAGER='cat')
                text = STYLE.sub('', text)
                whole = self.run_command(*arguments, status=int(arguments[0] == 'check'))
                self.assertEqual(text.split(), whole.split())
                for line in text.splitlines():  # but for a word that is as long itself
                    self.assertTrue(len(line) <= columns or ' ' not in line.strip(), line)

    def test_what_matters_is_seen(self):
        """On a narrow terminal: what the numbers are of, and how long an RPC took. Elsewhere nothing is left out."""
        path = command.capture('roce-nfs41-mini')
        for arguments in (('--summary',), ('--per', 'client', '--interval', '5'), ('--per', 'client')):
            whole = self.run_command('rpcs', *arguments, path).splitlines()
            for columns in (80, 120, 250):
                _, text = self.run_on('rpcs', *arguments, path, columns=columns, PAGER='cat')
                lines = STYLE.sub('', text).splitlines()
                self.assertEqual(len(lines), len(whole))
                titles = lines[0].split()
                for title in ('ops', 'mean', 'p99', 'max', 'stalled', whole[0].split()[-1]):
                    self.assertIn(title, titles)
                self.assertEqual(len(titles) < len(whole[0].split()), columns < 250)
                at = whole[0].index(whole[0].split()[-1])
                for line, same in zip(lines[1:], whole[1:]):
                    self.assertLessEqual(len(line), columns)
                    self.assertTrue(any(name in line for name in begins(same[at:])), line)
                    self.assertLessEqual(set(line.split()[:5]), set(same.split()))
                if columns == 250:
                    self.assertEqual(lines, whole)
        whole = self.run_command('rpcs', '--summary', path).splitlines()
        _, text = self.run_on('rpcs', '--summary', path, columns=40, PAGER='cat')
        at = whole[0].index('operation')
        for line, same in zip(STYLE.sub('', text).splitlines(), whole):
            self.assertLessEqual(len(line), 40)
            self.assertTrue(any(name in line for name in begins(same[at:])), line)
        whole = self.run_command('rpcs', path).splitlines()
        for columns in (80, 100, 120, 1000):
            _, text = self.run_on('rpcs', path, columns=columns, PAGER='cat')
            for line, same in zip(STYLE.sub('', text).splitlines(), whole):
                self.assertLessEqual(len(line), columns)
                took = re.search(r'\d+\.\d{3} ms', same)
                self.assertIn(took[0] if took else 'no Reply', line)
                last = re.search(r' #\d+ (.*?) XID', same)[1][-7:]
                self.assertIn(last, line)

    def test_compounds(self):
        """On a narrow terminal COMPOUNDs are told apart, but for those that go on alike for long."""
        path = command.capture('roce-nfs41-mini')
        for arguments in (('rpcs', '--summary', path), ('diff', path, path)):
            _, text = self.run_on(*arguments, columns=66, PAGER='cat')
            names = [line[line.index('NFS V4 '):] for line in STYLE.sub('', text).splitlines() if 'NFS V4 ' in line]
            self.assertGreater(len(names), 10)
            self.assertTrue(any('\u2026' in name for name in names))
            self.assertGreaterEqual(len(set(names)), len(names) - 1, names)

    def test_files_of_one_name(self):
        """What tells them apart is seen, whatever the name; and the line still fits."""
        for name in ('renamed', 'a-name-that-is-long-and-longer-than-a-line-has-room-for', '\u00e9\n\x1b' * 9):
            nfs = Nfs()
            for directory, file in ((1, 11), (2, 12)):
                nfs.lookup(directory, name.encode(), file)
            nfs.lookup(3, name.encode())    # there is none
            path = nfs.save(os.path.join(self.folder, 'files.pcap'))
            for columns in (80, 100, 110, 124, 150, 180):
                _, text = self.run_on('rpcs', '--no-pager', '--color', 'never', '--per', 'file', path, columns=columns)
                lines = text.splitlines()[1:]
                self.assertEqual(sorted(line[line.index('('):] for line in lines),
                                 ['(handle ...0b0b0b0b)', '(handle ...0c0c0c0c)', '(in directory ...03030303)'], text)
                self.assertLessEqual(max(map(len, lines)), columns, text)
                self.assertNotIn('\x1b', text)
            _, text = self.run_on('diff', '--no-pager', '--color', 'never', '--per', 'file', path, path, columns=180)
            self.assertEqual({line[-9:] for line in text.splitlines()[3:]}, {'0b0b0b0b)', '0c0c0c0c)', '03030303)'}, text)

    def test_wide_characters(self):
        """CJK and emoji take two columns, combining characters none: lines fit, and are cut between characters."""
        for name in ('\u6587\u4ef6\u540d' * 20, '\U0001f600' * 40, 'e\u0301' * 60, 'x\u6587' * 30):
            nfs = Nfs()
            for directory, file in ((1, 11), (2, 12)):
                nfs.lookup(directory, name.encode(), file)
            nfs.lookup(3, (name[:9] + 'only').encode(), 13)
            path = nfs.save(os.path.join(self.folder, 'files.pcap'))
            for columns in (80, 81, 120, 121, 160):
                plain = ('--no-pager', '--color', 'never')
                for arguments in (('rpcs', '--per', 'file', path), ('rpcs', path), ('diff', '--per', 'file', path, path)):
                    _, text = self.run_on(*arguments, *plain, columns=columns)
                    self.assertLessEqual(max(map(columns_of, text.splitlines()[2 * (arguments[0] == 'diff'):])), columns, text)
                    self.assertEqual(re.findall('[\u2026\n ]\u0301', text), [])
                _, text = self.run_on('rpcs', '--per', 'file', path, *plain, columns=columns)
                long = [line for line in text.splitlines() if line.endswith(('0b0b0b0b)', '0c0c0c0c)'))]
                self.assertEqual(len(long), 2, text)
                for line in long:  # no column is left but one that a wide character does not fit in
                    self.assertGreaterEqual(columns_of(line), min(columns - 1, columns_of(name)), text)
            run = subprocess.run([command.RPCRDMA, 'rpcs', '--where', f'rpcs.path == "{name}" &', path], check=False,
                                 capture_output=True, text=True)
            shown, mark = run.stderr.splitlines()[1:3]
            self.assertEqual(mark.index('^'), columns_of(shown[:shown.rindex('&')]), run.stderr)
            for where, found in ((f'rpcs.path contains "{name[0]}"', 3), (f'rpcs.path == ".../{name}"', 2)):
                self.assertEqual(len(self.run_command('rpcs', '--json', '--where', where, path).splitlines()), found)

    def test_diff_has_names(self):
        """Columns are left out for what is compared, the least important first."""
        path = command.capture()
        whole = [line.split()[-2:] for line in self.run_command('diff', path, path).splitlines()[3:]]
        for columns in (80, 100, 120, 139, 170):
            _, text = self.run_on('diff', '--no-pager', '--color', 'never', path, path, columns=columns)
            lines = text.splitlines()
            self.assertTrue(lines[2].endswith('operation'), text)
            self.assertEqual([line.split()[-2:] for line in lines[3:]], whole, text)
            self.assertLessEqual(max(map(len, lines[2:])), columns, text)
            for title in ('mean A ms', 'change', 'B is', *(('ops A',) if columns >= 80 else ())):
                self.assertIn(title, lines[2])

    def test_json_is_whole(self):
        arguments = ('rpcs', '--json', command.capture())
        self.assertEqual(self.run_on(*arguments, PAGER='cat')[1], self.run_command(*arguments))

    def test_binary(self):
        for arguments in (('extract', '-w'), ('sanitize', '-o'), ('capture', '-w')):
            for standard in '-', '/dev/stdout':
                read = ('-r', command.capture()) if arguments[0] == 'capture' else (command.capture(),)
                status, text = self.run_on(*arguments, standard, *read)
                self.assertEqual(status, 2)
                self.assertIn(f'{arguments[1]} {standard} writes a binary file', text)

    def test_pager_and_files(self):
        """What goes to standard output by an option is shown as what goes there without."""
        want = self.run_command('credits', '--series', '-', command.capture())
        _, text = self.run_on('credits', '--series', '-', command.capture(), PAGER='sed s/^/page:/')
        self.assertEqual(text.splitlines(), ['page:' + line for line in want.splitlines()])

    def large(self):
        """Captures that take longer and longer to unpack: on any machine more than a second in the end."""
        with open(command.capture(), 'rb') as file:
            data = file.read()
        parts = bz2.compress(data[24:] * 8, 9)
        for times in (40, 200, 1000, 5000):
            yield self.file(bz2.compress(data[:24]) + parts * times, 'large.pcap.bz2')

    def run_large(self, shown, **how):
        for path in self.large():
            _, text = self.run_on('report', path, PAGER='cat', **how)
            if re.search(shown, text):
                return path, text
        return self.fail(f'{shown} is never shown')

    def test_progress(self):
        shown = rb'\r\d+ % of [\d.]+ [kM]B, \d+ packets, \d+/s, \d+:\d\d left'
        for stdout in (True, False):
            _, text = self.run_on('rpcs', '--summary', '-q', '-c', '1', command.capture(), stdout=stdout)
            self.assertNotIn('%', text)
            path, _ = self.run_large(shown.decode(), until=shown, stdout=stdout)
        _, text = self.run_on('report', path, '-q', stdout=False)
        self.assertNotRegex(text, r'\d left')

    def test_progress_makes_way(self):
        """Nothing of it stands where output does."""
        _, text = self.run_large(r'\d+ % of ')
        progress, _, rest = text.rpartition('\r')
        self.assertNotIn('\n', progress)
        self.assertIn('CONNECTIONS', rest)
        self.assertNotRegex(rest, r'\d left')


command.main()
