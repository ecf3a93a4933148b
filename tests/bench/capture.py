# SPDX-License-Identifier: BSD-2-Clause
"""How fast packets of a network interface are captured, against tcpdump and dumpcap: on both ends of a virtual cable
in a network namespace of our own (as root, or where one may have namespaces).

For each program, and each way to run ours: at a fixed rate, the processor time of its processes per packet; and the
highest rate of the ladder at which no packet was lost, in one of three attempts. What the kernel does for it while the
packet arrives (it copies it into the program's buffer) is the sender's time here, the same for all of them.
--soak captures that many packets into a ring of files, and prints what its processes hold meanwhile."""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'capture'))
# pylint: disable=wrong-import-position
import network
import processes

LADDER = (25, 50, 100, 150, 200, 250, 300, 400, 500, 700, 1000)  # thousands a second
OURS = {'whole': [], '--slice': ['--slice'], '--rpcrdma-only': ['--rpcrdma-only'],
        'both': ['--slice', '--rpcrdma-only']}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('rpcrdma')
    parser.add_argument('generate')
    parser.add_argument('blast')
    parser.add_argument('--kinds', default='small,bulk1024', help='of bench_generate (%(default)s)')
    parser.add_argument('--rate', type=int, default=50000, help='at which time per packet is measured (%(default)s)')
    parser.add_argument('--seconds', type=float, default=2, help='of each run (%(default)s)')
    parser.add_argument('--buffer', type=int, default=32, help='MiB, of each program (%(default)s)')
    parser.add_argument('--prefer', action='store_true', help='capture and send before other programs (chrt -f 1)')
    parser.add_argument('--soak', type=int, metavar='PACKETS', help='this many, as fast as they can be sent')
    return parser.parse_args()


def programs(options):
    """{name: how to write what comes out at v1 to a file}"""
    size = str(options.buffer)
    found = {f'rpcrdma {name}': [options.rpcrdma, 'capture', '-i', 'v1', '-B', size, *more, '-w']
             for name, more in OURS.items()}
    if shutil.which('tcpdump'):
        found['tcpdump'] = ['tcpdump', '-i', 'v1', '-B', str(options.buffer * 1024), '-Z', 'root', '-w']
    if shutil.which('dumpcap'):
        found['dumpcap'] = ['dumpcap', '-q', '-i', 'v1', '-B', size, '-w']
    return found


def arrived():
    with open('/proc/net/dev', encoding='ascii') as file:
        return next(int(line.split()[2]) for line in file if line.split()[0] == 'v1:')


def taken(text):
    """(packets that it saw, packets that it lost) by what a program says at its end."""
    if match := re.search(r"received/dropped on interface '\w+': (\d+)/(\d+)", text):  # dumpcap
        return int(match[1]), int(match[2])
    if match := re.search(r'(\d+) packets? captured\n\d+ packets? received by filter\n(\d+) packet', text):  # tcpdump
        return int(match[1]), int(match[2])
    numbers = {word: int(n) for n, word in re.findall(r'(\d+) packets? (written|left out|were lost|was lost)', text)}
    return (numbers.get('written', 0) + numbers.get('left out', 0),
            numbers.get('were lost', 0) + numbers.get('was lost', 0))


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.prefer = ['chrt', '-f', '1'] if options.prefer else []

    def start(self, command):
        before = network.listeners()
        run = subprocess.Popen([*self.prefer, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        network.wait_for(lambda: network.listeners() > before)
        time.sleep(0.5)
        return run

    def send(self, capture, rate, packets):
        """(packets, seconds)"""
        out = subprocess.run([*self.prefer, self.options.blast, 'v0', capture, str(rate), str(packets)],
                             check=True, stdout=subprocess.PIPE).stdout.split()
        return int(out[0]), float(out[1])

    def run(self, command, capture, rate):
        """(packets a second that arrived, how many of them are missing, seconds of processor time per packet)"""
        out = os.path.join(self.folder, 'out')
        run = self.start([*command, out])
        before = arrived()
        _, seconds = self.send(capture, rate, int(rate * self.options.seconds))
        count = arrived() - before
        processes.settle(run.pid, 1.3)  # tcpdump loses what came in the last second before ^C
        run.send_signal(signal.SIGINT)
        text = run.stderr.read().decode()
        _, _, usage = os.wait4(run.pid, 0)
        run.returncode = 0
        saw, _ = taken(text)
        os.unlink(out)
        return count / seconds, count - saw, (usage.ru_utime + usage.ru_stime) / max(saw, 1)

    def most(self, command, capture):
        """The highest rate at which nothing was missing; '>' before it: the sender cannot do more."""
        best = 0
        for thousands in LADDER:
            for _ in range(3):
                rate, missing, _ = self.run(command, capture, thousands * 1000)
                if missing <= 0:
                    best = max(best, rate)
                    if rate < 0.9 * thousands * 1000:
                        return f'>{best:.0f}'
                    break
            else:
                break
        return f'{best:.0f}'

    def compare(self, kind, capture):
        print(f'{kind:10} {"":22} {"us of CPU per packet":>22} {"packets/s, none lost":>22}', flush=True)
        for name, command in programs(self.options).items():
            used = min(self.run(command, capture, self.options.rate)[2] for _ in range(3))
            print(f'{"":10} {name:22} {used * 1e6:22.3f} {self.most(command, capture):>22}', flush=True)

    def soak(self, capture, packets):
        """Into a ring of files; what the processes hold, ten times."""
        out = os.path.join(self.folder, 'ring.pcapng')
        run = self.start([self.options.rpcrdma, 'capture', '-i', 'v1', '-B', str(self.options.buffer), '--slice',
                          '-b', 'filesize:20000', '-b', 'files:5', '-w', out])
        before, begin = arrived(), time.monotonic()
        for tenth in range(1, 11):
            self.send(capture, 0, packets // 10)
            family = processes.family(run.pid)
            memory = [int(processes.status(pid)['VmRSS'].split()[0]) for pid in family]
            files = [name for name in os.listdir(self.folder) if name.startswith('ring')]
            print(f'{tenth * 10:4} %  {arrived() - before:12} packets  {time.monotonic() - begin:8.1f} s  '
                  f'{sum(memory):8} KiB in {len(family)} processes  '
                  f'{sum(len(processes.descriptors(pid)) for pid in family):4} descriptors  '
                  f'{len(files)} files, {sum(os.path.getsize(os.path.join(self.folder, name)) for name in files)} bytes',
                  flush=True)
        processes.settle(run.pid, 0.5)
        count = arrived() - before
        run.send_signal(signal.SIGINT)
        text = run.stderr.read().decode()
        run.wait()
        saw, lost = taken(text)
        print(f'{count} arrived: {saw} taken, {lost} said to be lost, {count - saw - lost} neither\n{text}')
        return count - saw - lost


def main():
    network.enter()
    options = arguments()
    network.set_up()
    network.sender().close()
    wrong = 0
    with tempfile.TemporaryDirectory(dir='/dev/shm' if os.path.isdir('/dev/shm') else None) as folder:
        os.chmod(folder, 0o777)  # programs may give up being root
        bench = Bench(options, folder)
        for kind in options.kinds.split(','):
            capture = os.path.join(folder, kind + '.pcap')
            subprocess.run([options.generate, kind, '8M', capture], check=True, stdout=subprocess.DEVNULL)
            if options.soak:
                wrong |= bench.soak(capture, options.soak)
            else:
                bench.compare(kind, capture)
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
