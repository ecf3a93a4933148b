# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs tshark with the plugin under test, for the *_test.py beside. Nothing of the user's Wireshark
is read or written."""
import atexit
import collections
import hashlib
import os
import shutil
import sys
import tempfile
import unittest
import xml.etree.ElementTree

for beside in ('tools', 'truth'):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', beside))

# pylint: disable=wrong-import-position
import fork_server
import tshark
import wire

TSHARK, PLUGIN, VERSION, RPCRDMA, CAPTURES = sys.argv[1:6]
del sys.argv[1:6]


def _scratch():
    folder = tempfile.mkdtemp(prefix='rpcrdma-plugin-')
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.chmod(folder, 0o777)
    epan = os.path.join(folder, 'plugins', VERSION, 'epan')
    os.makedirs(epan)
    shutil.copy(PLUGIN, epan)
    os.mkdir(os.path.join(folder, 'config'))
    os.chmod(os.path.join(folder, 'config'), 0o777)
    return folder


SCRATCH = _scratch()


def take_profile(folder):
    """Puts a profile among the user's."""
    to = os.path.join(SCRATCH, 'config', 'profiles', os.path.basename(folder))
    shutil.copytree(folder, to)
    for path in (os.path.dirname(to), to, *(os.path.join(to, name) for name in os.listdir(to))):
        os.chmod(path, 0o777)  # Wireshark writes there, too


def environment(plugin=True):
    # 4.6 looks for Lua's start-up file at home
    env = dict(os.environ, **tshark.quick(), WIRESHARK_CONFIG_DIR=os.path.join(SCRATCH, 'config'), HOME=SCRATCH,
               LC_ALL='C.UTF-8')
    if plugin and 'RPCRDMA_PRELOAD' in os.environ:
        env['LD_PRELOAD'] = os.environ['RPCRDMA_PRELOAD']
    env['WIRESHARK_PLUGIN_DIR'] = os.path.join(SCRATCH, 'plugins' if plugin else 'none')
    return env


def _digest(path):
    with open(path, 'rb') as file:
        return hashlib.sha256(file.read()).hexdigest()


def _settings():
    """What the folders of plugins and settings hold."""
    return tuple(sorted(os.path.join(where, name) for part in ('plugins', 'config')
                        for where, _, names in os.walk(os.path.join(SCRATCH, part)) for name in names))


_done = collections.OrderedDict()  # what was run lately -> (stdout, stderr)
KEPT = 32 << 20  # bytes of them


def run(*arguments, plugin=True, status=0, program=TSHARK, timeout=300):
    """(stdout, stderr); of the same file with the same options it is run once. Wireshark takes no plugin
    folder from root: it is run as nobody then."""
    if program != TSHARK or status != 0 or '-w' in arguments or '-r' not in arguments:
        return _run(arguments, plugin, status, program, timeout)
    at = arguments.index('-r') + 1
    key = arguments[:at], _digest(arguments[at]), arguments[at + 1:], plugin, _settings()
    if key not in _done:
        _done[key] = _run(arguments, plugin, status, program, timeout)
        while sum(len(out) for out, _ in _done.values()) > KEPT:
            _done.popitem(last=False)
    return _done.get(key) or _run(arguments, plugin, status, program, timeout)


def _run(arguments, plugin, status, program, timeout):
    done = fork_server.run(program, arguments, environment(plugin), tshark.as_nobody(), timeout, _settings())
    out, err = done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace')
    if status is not None and done.returncode != status:
        raise AssertionError(f'{program} {arguments}: status {done.returncode}\n{err}')
    if 'AddressSanitizer' in err or 'runtime error' in err:
        raise AssertionError(f'{program} {arguments}:\n{err}')
    return out, err


def capture(name):
    """A recording, at a place where nobody may read it, too: the tree may be in root's own folder."""
    path = os.path.join(SCRATCH, 'captures', name, 'capture.pcap')
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path))
        shutil.copy(os.path.join(CAPTURES, name, 'capture.pcap'), path)
    return path


def recordings():
    return sorted(name for name in os.listdir(CAPTURES)
                  if os.path.exists(os.path.join(CAPTURES, name, 'capture.pcap')))


def recording(name):
    return wire.Capture(capture(name))


def fields(path, *names, where=None, passes=1, options=(), plugin=True):
    """A tuple of lists of strings per frame."""
    arguments = ['-r', path, '-T', 'fields', '-E', 'separator=\x01', '-E', 'aggregator=\x02', *options]
    if passes == 2:
        arguments.append('-2')
    if where:
        arguments += ['-Y', where]
    for name in names:
        arguments += ['-e', name]
    out, _ = run(*arguments, plugin=plugin)
    return [tuple(cell.split('\x02') if cell else [] for cell in line.split('\x01'))
            for line in out.splitlines()]


def count(path, where, passes=1, options=()):
    return len(fields(path, 'frame.number', where=where, passes=passes, options=options))


def pdml(path, where, passes=1, options=()):
    """The packets' elements."""
    arguments = ['-r', path, '-T', 'pdml', '-Y', where, *options]
    if passes == 2:
        arguments.append('-2')
    out, _ = run(*arguments)
    return list(xml.etree.ElementTree.fromstring(out.encode()))


def frame_number(packet):
    return int(packet.find("proto[@name='geninfo']/field[@name='num']").get('show'))


class PluginTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='rpcrdma-plugin-')
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.chmod(self.folder, 0o755)

    def path(self, name='file.pcap'):
        return os.path.join(self.folder, name)
