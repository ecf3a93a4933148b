# SPDX-License-Identifier: BSD-2-Clause
"""How many packets per second the command captures from the stand-in device, whole and sliced: the highest rate at
which it loses none, and the processor time of a packet. Where RDMASNIFF names a libpcap.so.1 that has rdmasniff
(configure --enable-rdma; Debian's has not), tcpdump with it, too."""
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

RPCRDMA, CAPTURES, STANDIN = sys.argv[1:4]
PACKETS = 200000
OURS = {'whole': [], '--slice': ['--slice'], '--rpcrdma-only': ['--rpcrdma-only'],
        'both': ['--slice', '--rpcrdma-only']}


def programs(folder):
    out = os.path.join(folder, 'out.pcapng')
    found = {f'rpcrdma {name}': [RPCRDMA, 'capture', '-q', '-i', 'standin0', *more, '-w', out]
             for name, more in OURS.items()}
    if os.environ.get('RDMASNIFF'):
        found['tcpdump'] = ['tcpdump', '-i', 'standin0', '-Z', 'root', '-w', out]
    return found


def run(name, rate, capture, packets):
    """(dropped, seconds, processor seconds of the program less those of the device, played)"""
    with tempfile.TemporaryDirectory(dir='/dev/shm' if os.path.isdir('/dev/shm') else None) as folder:
        os.chmod(folder, 0o777)  # the command gives up being root
        counters = os.path.join(folder, 'standin0/ports/1/hw_counters')
        os.makedirs(counters)
        with open(os.path.join(counters, 'out_of_buffer'), 'w', encoding='ascii') as file:
            file.write('0\n')
        report = os.path.join(folder, 'report')
        preload = STANDIN if name != 'tcpdump' else STANDIN + ':' + os.environ['RDMASNIFF']
        environment = {**os.environ, 'LD_PRELOAD': preload, 'STANDIN_CAPTURE': capture,
                       'STANDIN_RATE': str(rate), 'STANDIN_LOOPS': str(PACKETS // packets + 1),
                       'STANDIN_SYSFS': folder, 'STANDIN_REPORT': report, 'STANDIN_CLOCK': '1'}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with subprocess.Popen(programs(folder)[name], env=environment, stderr=subprocess.DEVNULL) as program:
            while not os.path.exists(report) or os.path.getsize(report) == 0:
                time.sleep(0.05)
            program.send_signal(signal.SIGTERM)
            program.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(report, encoding='ascii') as file:
            said = json.load(file)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return said['dropped'], said['seconds'], used - said['cpu'], said['played']


def attempt(name, rate, capture, packets):
    """(packets per second, processor seconds per packet) of a run that lost nothing; None: none of three. What
    else the machine does takes packets, too."""
    for _ in range(3):
        dropped, seconds, used, played = run(name, rate, capture, packets)
        if dropped == 0 and played / seconds > 0.95 * rate:
            return played / seconds, used / played
    return None


def most(name, capture, packets):
    low, high, best, rate = 0, 0, None, 20000
    while high == 0 or high - low > low // 10:
        got = attempt(name, rate, capture, packets)
        if got:
            low, best = rate, got
        else:
            high = rate
        rate = rate * 2 if high == 0 else (low + high) // 2
        if rate < 1000:
            break
    return best


def main():
    capture = os.path.join(CAPTURES, 'roce-nfs3-mini', 'capture.pcap')
    with open(capture, 'rb') as file:
        blob, packets, at = file.read(), 0, 24
    while at < len(blob):
        at += 16 + int.from_bytes(blob[at + 8:at + 12], sys.byteorder)
        packets += 1
    for name in programs(''):
        best = most(name, capture, packets)
        print(f'{name:24}' + (f'{best[0]:9.0f} packets per second, none lost, {best[1] * 1e6:6.3f} us of CPU per packet'
                              if best else 'loses packets'), flush=True)


main()
