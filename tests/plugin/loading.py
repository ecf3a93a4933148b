#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""loading.py TSHARK PLUGIN VERSION RPCRDMA CAPTURES FOLDER [BIG [SEED]]

Wireshark on a display of its own (Xvfb), used as somebody in a hurry does: display filters, clicks and jumps
while packets still arrive through a pipe; the capture stopped; the file reloaded, and reloaded again while it
loads; another file, and a big one, filtered while they load. After each the packet list is exported, and
must be what tshark makes of the same packets in two passes. Pictures of each go to FOLDER. Worth most with a
plugin built with ASan. Needs what gui.py needs. A long file's loading is stopped midway, too, and it is closed
while it loads again: what was loaded must be what tshark makes of as many packets."""
import csv
import os
import random
import struct
import subprocess
import sys
import threading
import time

import host
from display import HEIGHT, WIDTH, Display, as_user, need_programs

FOLDER = sys.argv[1]
BIG = sys.argv[2] if len(sys.argv) > 2 else 'roce-long-call'
SECOND = 'iwarp-nfs41-mini'
RANDOM = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
FEED_SECONDS = 30
TIMES = 100  # the recording in the long file
# Where the status bar has the progress bar and its button: with Qt 6 it is higher by a title
BAR = [(x, HEIGHT - up) for x in range(200, 600, 9) for up in (18, 36)]
FILTERS = ('rpcrdma', 'rpcrdma.xid', 'rpcrdma.data.for_frame', 'nfs', 'rpcrdma.credits.in_flight > 1', 'rpc.repframe',
           'rpcrdma && frame.number > 100', '')
FINAL = 'rpcrdma || rpc'
COLUMNS = ('No.', 'Source', 'Destination', 'Protocol', 'Info')
EXPORT = ('alt+f', *['Up'] * 7, 'Right', 'Down', 'Return')  # Export Packet Dissections, As CSV


class Wireshark:
    def __init__(self, display, *arguments, stdin=None):
        self.display = display
        self.log = os.path.join(FOLDER, 'wireshark.log')
        with open(self.log, 'ab') as out:
            self.process = as_user(['wireshark', *arguments], display.env, stdin=stdin, stdout=out, stderr=out)
        self.window = display.window('Wireshark|capture|Standard input')
        display.do('windowmove', self.window, '0', '0', 'windowsize', self.window, str(WIDTH), str(HEIGHT - 25))

    def alive(self):
        if self.process.poll() is not None:
            with open(self.log, encoding='utf-8', errors='replace') as text:
                raise SystemExit(f'Wireshark ended, status {self.process.returncode}:\n{text.read()[-4000:]}')

    def keys(self, *keys):
        self.alive()
        self.display.do('windowactivate', self.window, 'key', '--delay', '60', *keys)

    def type(self, text):
        self.display.do('type', '--delay', '5', text)

    def filter(self, text):
        self.keys('ctrl+slash', 'ctrl+a', 'BackSpace')
        self.type(text)
        self.keys('Escape', 'Return')  # Escape: the list of completions

    def click(self):
        """A packet of those in the list."""
        self.display.do('mousemove', '--window', self.window, '200', str(RANDOM.randrange(145, 480)), 'click', '1')

    def ticks(self):
        with open(f'/proc/{self.process.pid}/stat', encoding='utf-8') as stat:
            return sum(map(int, stat.read().rpartition(')')[2].split()[11:13]))

    def settle(self, patience=600):
        """Waits until it has nothing to do."""
        end, quiet, before = time.monotonic() + patience, 0, self.ticks()
        while quiet < 4:
            time.sleep(1)
            self.alive()
            now = self.ticks()
            quiet = quiet + 1 if now - before < 8 else 0
            before = now
            if time.monotonic() > end:
                raise SystemExit('Wireshark does not come to rest')

    def disturb(self, seconds):
        """Filters, clicks and jumps, whatever Wireshark does meanwhile."""
        end, n = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            for act in (lambda: self.filter(RANDOM.choice(FILTERS)), self.click,
                        lambda: self.keys(RANDOM.choice(('ctrl+Home', 'ctrl+End', 'ctrl+Down')))):
                act()
                n += 1
                time.sleep(RANDOM.random())
        return n

    def export(self, name):
        path = os.path.join(host.SCRATCH, f'{name}.csv')
        assert not os.path.exists(path)
        self.settle()
        self.keys(*EXPORT)
        dialog = self.display.window('Export Packet Dissections')
        self.display.do('windowactivate', '--sync', dialog)
        self.type(path)
        self.display.do('key', 'Return')
        self.settle()
        if not os.path.exists(path):
            self.display.picture(os.path.join(FOLDER, 'failed.png'))
            raise SystemExit('nothing was exported: see failed.png')
        with open(path, encoding='utf-8', errors='replace') as file:
            return [tuple(plain(row[name]) for name in COLUMNS) for row in csv.DictReader(file)]

    def end(self):
        self.process.terminate()
        self.process.wait()
        with open(self.log, encoding='utf-8', errors='replace') as text:
            text = text.read()
        if 'AddressSanitizer' in text or 'runtime error' in text or 'Dissector bug' in text:
            raise SystemExit(text[-4000:])


def expected(path):
    columns = ('frame.number', *(f'_ws.col.{name}' for name in COLUMNS[1:]))
    rows = host.fields(path, *columns, where=FINAL, passes=2)
    return [tuple(plain(''.join(cell)) for cell in row) for row in rows]


def plain(text):
    """Wireshark exports ASCII."""
    return ' '.join(text.replace('\u2192', '>').split())


def numbers(path, passes):
    return {int(row[0][0]) for row in host.fields(path, 'frame.number', where=FINAL, passes=passes)}


def judge(what, wireshark, path):
    """A filter set while it loads must find what one pass finds, at least; once all is loaded, what two do."""
    name = what.replace(' ', '-')
    wireshark.filter(FINAL)
    early = {int(row[0]) for row in wireshark.export(f'{name}-early')}
    missing, more = sorted(numbers(path, 1) - early), sorted(early - numbers(path, 2))
    if missing or more:
        raise SystemExit(f'{what}: {len(missing)} missing {missing[:20]}, {len(more)} too many {more[:20]}')
    wireshark.filter('')
    wireshark.settle()
    wireshark.filter(FINAL)
    got, want = wireshark.export(name), expected(path)
    wireshark.display.picture(os.path.join(FOLDER, f'{name}.png'))
    if got != want:
        for one, other in zip(got, want):
            if one != other:
                print(f'Wireshark: {one}\ntshark:    {other}')
                break
        raise SystemExit(f'{what}: {len(got)} packets displayed, {len(want)} expected')
    print(f'{what}: {len(early)}, then {len(got)} packets displayed, as tshark has them', flush=True)


def feed(path, to, stop):
    """A file, little by little."""
    size = os.path.getsize(path)
    step = max(1, size // (FEED_SECONDS * 20))
    try:
        with open(path, 'rb') as file, os.fdopen(to, 'wb', buffering=0) as pipe:
            while not stop.is_set():
                data = file.read(step)
                if not data:
                    return
                pipe.write(data)
                time.sleep(0.05)
            stop.wait()
    except BrokenPipeError:
        pass


def open_file(wireshark, path):
    wireshark.keys('ctrl+o')
    dialog = wireshark.display.window('Open Capture File')
    wireshark.display.do('windowactivate', '--sync', dialog)
    wireshark.type(path)
    wireshark.display.do('key', 'Return')


def captured(display, path):
    """Through a pipe to its end, then reloaded."""
    read, write = os.pipe()
    wireshark = Wireshark(display, '-k', '-i', '-', stdin=read)
    os.close(read)
    feeder = threading.Thread(target=feed, args=(path, write, threading.Event()))
    feeder.start()
    acts = wireshark.disturb(FEED_SECONDS)
    feeder.join()
    print(f'{acts} acts while packets arrived', flush=True)
    judge('captured', wireshark, path)
    wireshark.keys('ctrl+r')
    wireshark.disturb(3)
    wireshark.keys('ctrl+r')
    judge('reloaded', wireshark, path)
    wireshark.end()


def opened(display, path):
    """From a file; then another; then the first again."""
    wireshark = Wireshark(display, '-r', path)
    print(f'{wireshark.disturb(10)} acts while it loads', flush=True)
    judge('opened', wireshark, path)
    second = host.capture(SECOND)
    open_file(wireshark, second)
    wireshark.disturb(4)
    judge('second file', wireshark, second)
    open_file(wireshark, path)
    wireshark.disturb(6)
    wireshark.keys('ctrl+r')
    wireshark.disturb(2)
    judge('first file again', wireshark, path)
    wireshark.end()


def records(data):
    """Where each begins; pcap, little endian."""
    at = 24
    while at < len(data):
        yield at
        at += 16 + struct.unpack_from('<I', data, at + 8)[0]


def write(name, data):
    path = os.path.join(host.SCRATCH, name)
    with open(path, 'wb') as file:
        file.write(data)
    return path


def whole_list(wireshark, name):
    wireshark.filter('')
    return wireshark.export(name)


def stopped(display, path):
    """By the button beside the bar; then closed while it loads; then another file."""
    with open(path, 'rb') as file:
        data = file.read()
    begins = list(records(data))
    long_file = write('long.pcap', data[:24] + data[24:] * TIMES)
    wireshark = Wireshark(display, '-r', long_file)
    across = [word for x, y in BAR for word in ('mousemove', str(x), str(y), 'click', '1')]
    display.do(*across)
    display.picture(os.path.join(FOLDER, 'stopped.png'))
    display.window('Wireshark|long')
    wireshark.settle()
    display.do('key', 'Return')  # "The remaining packets were discarded"
    n = len(whole_list(wireshark, 'stopped-all'))
    if not 0 < n < TIMES * len(begins):
        raise SystemExit(f'{n} packets were loaded of {TIMES * len(begins)}: it was not stopped')
    rounds, rest = divmod(n, len(begins))
    part = write('part.pcap', data[:24] + data[24:] * rounds + data[24:begins[rest]])
    wireshark.filter(FINAL)
    got, want = wireshark.export('stopped'), expected(part)
    if got != want:
        raise SystemExit(f'stopped: {len(got)} packets displayed, {len(want)} expected')
    print(f'stopped: {n} of {TIMES * len(begins)} packets, {len(got)} displayed, as tshark has them', flush=True)
    wireshark.keys('ctrl+r')
    time.sleep(1)
    wireshark.keys('ctrl+w')
    wireshark.settle()
    display.picture(os.path.join(FOLDER, 'closed.png'))
    open_file(wireshark, path)
    judge('after one closed', wireshark, path)
    wireshark.end()


WAYS = (captured, opened, stopped)


def main():
    os.makedirs(FOLDER, exist_ok=True)
    os.chmod(FOLDER, 0o777)
    path = host.capture(BIG)
    with Display(FOLDER) as display:
        for what in WAYS:
            what(display, path)


if __name__ == '__main__':
    need_programs()
    main()
