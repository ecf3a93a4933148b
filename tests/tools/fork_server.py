# SPDX-License-Identifier: BSD-2-Clause
"""tshark, started once and asked often. A start takes 0.3 s of CPU time, nearly all of it before the arguments are read:
a program that asks again with the same settings has a tshark that waits there, and copies of it (fork) answer
(fork_server.c). The first question has a start of its own, to the end; it is asked again of a copy, and if that says
anything else, all have."""
import atexit
import os
import re
import shutil
import struct
import subprocess
import tempfile
import threading

MODULE = os.environ.get('RPCRDMA_FORK_SERVER')  # fork_server.c
ROOM = 600  # arguments
# What is read before; and what is read after, with a value and without. All else has a start of its own.
EARLY, EARLY_ALONE = {'-O', '-C'}, {'-V', '-P'}
LATE = {'-r', '-T', '-E', '-e', '-Y', '-R', '-o', '-d', '-c', '-z', '--disable-protocol', '--disable-heuristic',
        '--enable-heuristic'}
LATE_ALONE = {'-2', '-n', '-q', '--color'}
_folder = []
_known = {}  # what was started -> its first question, or the tshark that waits


def early(arguments):
    """Those that are read before the dissectors are registered; None where one is unknown, or no file is read."""
    words, found = iter(arguments), []
    for word in words:
        if word in EARLY_ALONE:
            found.append(word)
        elif word in EARLY:
            found += [word, next(words)]
        elif word in LATE:
            next(words)
        elif word not in LATE_ALONE:
            return None
    return found if arguments.count('-r') == 1 else None


class Waiting:
    """A tshark that waits for questions."""

    def __init__(self, program, first, env, user):
        self.folder = tempfile.mkdtemp(prefix='rpcrdma-fork-server-')
        os.chmod(self.folder, 0o755)
        # which file is read, it wants to know early: a name that leads to another file each time
        self.capture, self.out, self.err = (os.path.join(self.folder, name) for name in ('capture', 'out', 'err'))
        module = shutil.copy(MODULE, self.folder)  # the tree may be in root's own folder
        os.chmod(module, 0o644)
        env = {**env, 'LD_PRELOAD': ':'.join(filter(None, (env.get('LD_PRELOAD'), module)))}  # libasan comes first
        self.process = subprocess.Popen([program, *first, '-r', self.capture, *['-p'] * ROOM], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env,
                                        start_new_session=True, **user)
        atexit.register(self.end)
        self.works = self.status() == 0

    def status(self):
        told = self.process.stdout.read(4)
        return struct.unpack('=i', told)[0] if len(told) == 4 else None

    def ask(self, arguments, timeout, path=None):
        """Like subprocess.run; None if it cannot be asked. With the file's content from another path."""
        at = arguments.index('-r') + 1
        if os.path.lexists(self.capture):
            os.unlink(self.capture)
        os.symlink(path or os.path.abspath(arguments[at]), self.capture)
        for name in (self.out, self.err):
            with open(name, 'wb'):
                os.chmod(name, 0o666)
        words = [self.out, self.err, *arguments[:at], self.capture, *arguments[at + 1:]]
        question = b''.join(os.fsencode(word) + b'\0' for word in words)
        late = threading.Timer(timeout, self.kill)
        late.start()
        try:
            self.process.stdin.write(struct.pack('=I', len(question)) + question)
            self.process.stdin.flush()
            status = self.status()
        except BrokenPipeError:
            status = None
        late.cancel()
        if status is None:
            self.works = False
            return None
        with open(self.out, 'rb') as out, open(self.err, 'rb') as err:
            said = [file.read().replace(os.fsencode(self.capture), os.fsencode(arguments[at])) for file in (out, err)]
        return subprocess.CompletedProcess(arguments, os.waitstatus_to_exitcode(status), *said)

    def kill(self):
        os.killpg(self.process.pid, 9)

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def same(one, other):
    """But for the time of day, of which PDML tells."""
    said = [(done.returncode, re.sub(rb'(<pdml [^>]*) time="[^"]*"', rb'\1', done.stdout), done.stderr)
            for done in (one, other)]
    return said[0] == said[1]


def kept(arguments):
    """A copy of the file that is read, which may have other content when it is asked for again."""
    path = arguments[arguments.index('-r') + 1]
    if not os.path.isfile(path):
        return None
    if not _folder:
        _folder.append(tempfile.mkdtemp(prefix='rpcrdma-fork-server-'))
        os.chmod(_folder[0], 0o755)
        atexit.register(shutil.rmtree, _folder[0], ignore_errors=True)
    copy = shutil.copy(path, os.path.join(_folder[0], str(len(_known))))
    os.chmod(copy, 0o644)
    return copy


def run(program, arguments, env, user, timeout, settings=()):
    """What subprocess.run says of it. `settings` are those that are not in the environment: where they differ, it is another
    tshark."""
    def start():
        return subprocess.run([program, *arguments], capture_output=True, env=env, timeout=timeout, check=False, **user)

    first = early(arguments)
    if not MODULE or first is None or len(arguments) > ROOM:
        return start()
    key = program, tuple(first), tuple(sorted(env.items())), settings
    if key not in _known:
        _known[key] = arguments, kept(arguments), start()
        return _known[key][-1]
    if isinstance(_known[key], tuple):
        asked, path, done = _known[key]
        _known[key] = waiting = Waiting(program, first, env, user)
        again = path and waiting.works and waiting.ask(asked, timeout, path)
        waiting.works = bool(again) and same(again, done)
    waiting = _known[key]
    return waiting.works and waiting.ask(arguments, timeout) or start()
