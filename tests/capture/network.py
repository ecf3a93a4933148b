# SPDX-License-Identifier: BSD-2-Clause
"""Two ends of a virtual cable in a network namespace of our own, for the *_test.py beside."""
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

SKIPPED = 77


def enter():
    """Goes on in a new network namespace; ends with SKIPPED and a word where there is none."""
    if os.environ.get('RPCRDMA_TEST_NAMESPACE') == str(os.getpid()):
        return  # exec keeps the process
    for tool in ('ip', 'unshare'):
        if not shutil.which(tool):
            print(f'skipped: {tool} is not installed')
            sys.exit(SKIPPED)
    mine = ['unshare', '--net'] if os.geteuid() == 0 else ['unshare', '--net', '--map-root-user']
    probe = subprocess.run([*mine, 'ip', 'link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'v1'],
                           capture_output=True, check=False)
    if probe.returncode != 0:
        print('skipped: no network namespace or no veth interfaces here:',
              probe.stderr.decode().strip())
        sys.exit(SKIPPED)
    os.environ['RPCRDMA_TEST_NAMESPACE'] = str(os.getpid())
    os.execvp('unshare', [*mine, sys.executable, *sys.argv])


def set_up():
    """v0 and v1 are the two ends; nothing but the tests' packets passes."""
    for name in ('v0', 'v1'):
        subprocess.run(['ip', 'link', 'del', name], capture_output=True, check=False)
    subprocess.run(['ip', 'link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'v1'], check=True)
    for name in ('v0', 'v1'):
        with open(f'/proc/sys/net/ipv6/conf/{name}/disable_ipv6', 'w', encoding='ascii') as file:
            file.write('1')
        subprocess.run(['ip', 'link', 'set', name, 'mtu', '9000', 'up'], check=True)


class Cable(unittest.TestCase):
    def setUp(self):
        super().setUp()
        set_up()
        self.sender = sender()
        self.addCleanup(lambda: self.sender.close())

    def send(self, packets):
        for i, packet in enumerate(packets):
            self.sender.send(packet)
            if i % 64 == 63:
                time.sleep(0.005)  # the receiver's queue is short


def sender():
    """A socket whose packets come out at v1."""
    result = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    result.bind(('v0', 0))
    wait_for(lambda: b'state UP' in subprocess.run(['ip', 'link', 'show', 'v1'],
                                                   capture_output=True, check=True).stdout)
    return result


def listeners():
    """Packet sockets that are open here."""
    with open('/proc/net/packet', encoding='ascii') as file:
        return len(file.readlines()) - 1


def wait_for(what, seconds=60):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.02)


class Run:
    """The command, from when it listens until it ends."""

    def __init__(self, *arguments, listening=True, **options):
        self.run = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    **options)
        if listening:
            wait_for(lambda: self.run.poll() is not None or self.listens())

    def listens(self):
        """It gives up its privileges once its devices are ready, and not before. What starts it as another user has none for
        a moment either."""
        with open(f'/proc/{self.run.pid}/status', encoding='ascii') as file:
            status = dict(line.rstrip('\n').split(':\t', 1) for line in file)
        return status['Name'] != 'setpriv' and status.get('NoNewPrivs') == '1' and int(status['CapEff'], 16) == 0

    def finish(self, how=None):
        """(status, stdout, stderr)"""
        if how is not None:
            self.run.send_signal(how)
        out, err = self.run.communicate(timeout=60)
        return self.run.returncode, out.decode(), err.decode()


__all__ = ['Cable', 'Run', 'enter', 'listeners', 'signal', 'wait_for']
