# SPDX-License-Identifier: GPL-2.0-or-later
"""An X display for Wireshark (Xvfb), its keys and its pictures."""
import os
import shutil
import subprocess
import sys
import time

import host

WIDTH, HEIGHT = 1500, 900
ROOM = 40  # right and below, for a window of that size with its frame, wherever the window manager puts it
PATIENCE = 60  # seconds for a window to come


def need_programs():
    for program in ('wireshark', 'Xvfb', 'xdotool', 'openbox', 'import'):
        if not shutil.which(program):
            sys.exit(f'{program} is not installed')


def as_user(command, env, **options):
    return subprocess.Popen(command, env=env, **host.tshark.as_nobody(), **options)


class Display:
    """A display of its own, with a window manager; pictures of what went wrong go to FOLDER."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        read, write = os.pipe()
        self.server = subprocess.Popen(
            ['Xvfb', '-displayfd', str(write), '-screen', '0', f'{WIDTH + ROOM}x{HEIGHT + ROOM}x24',
             '-nolisten', 'tcp'],
            pass_fds=[write], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as number:
            self.env = dict(host.environment(), DISPLAY=':' + number.readline().strip(),
                            HOME=host.SCRATCH, XDG_RUNTIME_DIR=host.SCRATCH)
        self.env.pop('WIRESHARK_DATA_DIR')  # colours, and what else a window shows
        self.manager = subprocess.Popen(['openbox'], env=self.env, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        for process in (self.manager, self.server):
            process.terminate()
            process.wait()

    def do(self, *words):
        return subprocess.run(['xdotool', *words], env=self.env, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False).stdout.decode()

    def window(self, name):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = self.do('search', '--onlyvisible', '--name', name).split()
            if found:
                return found[-1]
            time.sleep(0.5)
        subprocess.run(['import', '-window', 'root', os.path.join(self.folder, 'failed.png')], env=self.env, check=False)
        raise SystemExit(f'no window named {name}')

    def picture(self, path, window='root'):
        """Of a window with its frame, or of the display."""
        frame = [] if window == 'root' else ['-frame']
        subprocess.run(['import', *frame, '-window', window, '-depth', '8', path], env=self.env, check=True)
        colours = subprocess.run(['identify', '-format', '%k', path], stdout=subprocess.PIPE, check=True)
        if int(colours.stdout) < 20:
            raise SystemExit(f'{path} is blank')
