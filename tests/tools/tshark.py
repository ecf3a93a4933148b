# SPDX-License-Identifier: BSD-2-Clause
"""tshark as an independent judge: with plugin folders, capture programs, profile and home of its own, all
empty, so that it is Wireshark as released, whatever is installed or configured on this machine. Wireshark
ignores such folders when root runs it: then it runs as nobody, on copies of what root alone may read."""
import atexit
import glob
import os
import shutil
import subprocess
import tempfile

import fork_server

PROGRAM = shutil.which('tshark')
NOBODY = 65534
_FOLDER = []


def missing():
    return PROGRAM is None


def as_nobody():
    """How subprocess gives up root; only the group that may run dumpcap stays."""
    if os.getuid() != 0:
        return {}
    dumpcap = shutil.which('dumpcap')
    return {'user': NOBODY, 'group': NOBODY, 'extra_groups': [os.stat(dumpcap).st_gid] if dumpcap else []}


def folder():
    """Everybody may write there; gone when the program ends."""
    if not _FOLDER:
        _FOLDER.append(tempfile.mkdtemp(prefix='rpcrdma-tshark-'))
        atexit.register(shutil.rmtree, _FOLDER[0], ignore_errors=True)
        os.chmod(_FOLDER[0], 0o777)
        for name in ('plugins', 'extcap', 'home', 'config', 'data'):
            os.mkdir(os.path.join(_FOLDER[0], name))
            os.chmod(os.path.join(_FOLDER[0], name), 0o777)
    return _FOLDER[0]


def quick():
    """Settings with which a start takes half the CPU time: it fills 50 MB of heap by large pages, and from one growth
    of it; and it reads no list of manufacturers, services and enterprises, and no script of Lua's."""
    return {'GLIBC_TUNABLES': 'glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864',
            'WIRESHARK_DATA_DIR': os.path.join(folder(), 'data')}


def environment(**settings):
    """For a Wireshark program that sees nothing of this machine's but itself."""
    at = folder()
    kept = {key: value for key, value in os.environ.items()
            if not key.startswith(('WIRESHARK_', 'XDG_')) and key != 'LD_PRELOAD'}
    return {**kept, **quick(), 'LC_ALL': 'C.UTF-8', 'HOME': os.path.join(at, 'home'),
            'WIRESHARK_CONFIG_DIR': os.path.join(at, 'config'),
            'WIRESHARK_PLUGIN_DIR': os.path.join(at, 'plugins'),
            'WIRESHARK_EXTCAP_DIR': os.path.join(at, 'extcap'), **settings}


def readable(path, name='capture'):
    """The file, or for nobody a copy of it, which replaces the one before of this name."""
    if os.getuid() != 0:
        return path
    copy = os.path.join(folder(), name)
    if os.path.exists(copy):
        os.unlink(copy)
    shutil.copyfile(path, copy)
    os.chmod(copy, 0o755 if os.access(path, os.X_OK) else 0o644)
    return copy


def _libraries(program):
    """What it loads of its own build tree."""
    told = subprocess.run(['ldd', program], capture_output=True, text=True, check=False).stdout
    paths = [words[2] for words in map(str.split, told.splitlines()) if len(words) > 2 and words[2].startswith('/')]
    return [path for path in paths if not path.startswith(('/lib', '/usr'))]


def with_modules(program):
    """A copy of the command for another user, and its modules (cli/module) beside, where it looks for them: the tree may be
    in root's own folder."""
    copy = os.path.join(folder(), 'bin', 'program')
    modules = glob.glob(os.path.join(os.path.dirname(program), '..', 'lib*', '**', 'rpcrdma', '*.so'), recursive=True)
    for path, to in [(program, copy)] + [(path, os.path.normpath(os.path.join(
            os.path.dirname(copy), os.path.relpath(path, os.path.dirname(program))))) for path in modules]:
        os.makedirs(os.path.dirname(to), mode=0o755, exist_ok=True)
        shutil.copyfile(path, to)
        os.chmod(to, 0o755)
    return copy


def launcher(at, program, preload):
    """A script that runs a program of the build tree with a library preloaded. tshark itself must not have that
    library: it may be linked to what the library replaces."""
    lines = ['#!/bin/sh']
    if os.getuid() == 0:  # the tree may be in root's own folder
        for path in _libraries(program):
            readable(path, os.path.basename(path))
        lines.append(f'export LD_LIBRARY_PATH={folder()}')
        program, preload = with_modules(program), readable(preload, os.path.basename(preload))
    lines.append(f'LD_PRELOAD={preload} exec {program} "$@"')
    with open(at, 'w', encoding='ascii') as file:
        file.write('\n'.join(lines) + '\n')
    os.chmod(at, 0o755)


def start(path, *arguments):
    """A process that reads the capture, with its output in a pipe."""
    return subprocess.Popen([PROGRAM, '-n', '-r', readable(path), *arguments], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, env=environment(), cwd=folder(), **as_nobody())


def read(path, *arguments, timeout=300):
    """Its output as lines."""
    done = fork_server.run(PROGRAM, ['-n', '-r', readable(path), *arguments], environment(),
                           {'cwd': folder(), **as_nobody()}, timeout)
    if done.returncode != 0:
        raise RuntimeError(f'{PROGRAM} {path} {arguments}: status {done.returncode}: {done.stderr.decode()}')
    return done.stdout.decode().splitlines()


def number(text):
    """A field's number. Since 4.2 a boolean is True or False, before it was 1 or 0."""
    known = {'': 0, 'False': 0, 'True': 1}
    return known[text] if text in known else int(text, 0)
