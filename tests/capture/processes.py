# SPDX-License-Identifier: BSD-2-Clause
"""What /proc says of the command's processes, for the *_test.py beside and in tests/verbs."""
import os
import subprocess
import time

NOBODY, SOMEBODY = 65534, 12345


def status(pid):
    with open(f'/proc/{pid}/status', encoding='ascii') as file:
        return dict(line.rstrip('\n').split(':\t', 1) for line in file if ':\t' in line)


def restricted(pid):
    """Whether it has given up what it must not need; one that has just ended has not."""
    try:
        return status(pid)['NoNewPrivs'] == '1'
    except OSError:
        return False


def children(pid):
    """Those that it started and that are left; none of one that has just ended."""
    try:
        with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def family(pid):
    """The process and those it started, all that are left of them."""
    return [pid] + [one for child in children(pid) for one in family(child)]


def descriptors(pid):
    found = {}
    for name in os.listdir(f'/proc/{pid}/fd'):
        try:
            found[int(name)] = os.readlink(f'/proc/{pid}/fd/{name}')
        except FileNotFoundError:
            pass
    return found


def namespace_of_one():
    """Whether this user namespace has nobody but root."""
    with open('/proc/self/uid_map', encoding='ascii') as file:
        return int(file.read().split()[2]) <= NOBODY


def has_seccomp(program):
    return b'libseccomp' in subprocess.run(['ldd', program], capture_output=True, check=False).stdout


def sanitized(program):
    with open(program, 'rb') as file:
        data = file.read()
    return b'__asan_init' in data or b'__gcov_' in data


def settled(pid, user):
    """Where root looks: it is this user's now, or has closed what only the others need."""
    if os.geteuid() != 0:
        return True
    try:
        said = status(pid)
        return all(said[which].split() == [str(user)] * 4 for which in ('Uid', 'Gid')) or creates_only(pid)
    except OSError:
        return False


def check(test, pid, processes, user, program, sandboxed=True):
    """All of the family: so many processes, this user's, without any right; but one that only creates
    files may be the user whose folder they are in."""
    if namespace_of_one() and os.geteuid() == 0:
        user = 0
    end = time.monotonic() + 20
    while True:
        pids = family(pid)
        there = len(pids) == processes and all(restricted(one) for one in pids)
        late = time.monotonic() > end
        if there and (late or all(settled(one, user) for one in pids)):
            break
        test.assertFalse(late, f'{len(pids)} processes, not {processes}')
        time.sleep(0.02)
    time.sleep(0.3)
    for one in pids:
        said = status(one)
        for which in ('CapPrm', 'CapEff', 'CapInh', 'CapAmb'):
            test.assertEqual(int(said[which], 16), 0, which)
        test.assertEqual(said['NoNewPrivs'], '1')
        if has_seccomp(program) and sandboxed:
            test.assertEqual(said['Seccomp'], '2')
        if os.geteuid() != 0:
            continue
        for which in ('Uid', 'Gid'):
            if said[which].split() != [str(user)] * 4:
                test.assertTrue(creates_only(one), f'{which}: {said[which]}')
        if creates_only(one):
            continue
        test.assertEqual(said['Groups'].split(), [])


def busy(pid):
    """What a process does: (whether it waits, how much it has worked)."""
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as file:
            words = file.read().rpartition(')')[2].split()
    except OSError:
        return True, 0
    return words[0] in 'SZT', words[11:13]


def settle(pid, seconds=1):
    """Waits until all processes of the family have waited for so long: on a busy machine that takes longer than a
    sleep, and what was sent is taken by then."""
    since, before, end = time.monotonic(), None, time.monotonic() + 60
    while time.monotonic() < end:
        now = [(one, *busy(one)) for one in family(pid)]
        if now != before or not all(waits for _, waits, _ in now):
            since, before = time.monotonic(), now
        if time.monotonic() - since >= seconds:
            return
        time.sleep(0.02)
    raise TimeoutError(f'process {pid} does not come to rest')


def creates_only(pid):
    """It holds no pipe and no packet socket, nor an open file: only what it was started with, the folder
    and the socket that names come by; of `metrics` the file that it has replaced, and holds the lock of."""
    with open('/proc/net/packet', encoding='ascii') as file:
        packet = {f'socket:[{line.split()[8]}]' for line in file.readlines()[1:]}
    own = [what for fd, what in descriptors(pid).items() if fd > 2]
    return all((what.startswith('socket:') and what not in packet) or os.path.isdir(what) or what.endswith('.prom') for what in own)
