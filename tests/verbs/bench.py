# SPDX-License-Identifier: BSD-2-Clause
"""How many packets per second the command captures from the stand-in device: the highest rate of
which it loses none, and the cycles a packet costs."""
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

RPCRDMA, CAPTURES, STANDIN = sys.argv[1:4]
OUT = sys.argv[4] if len(sys.argv) > 4 else '/dev/null'
PACKETS = 200000


def frequency():
    with open('/proc/cpuinfo', encoding='ascii') as file:
        for line in file:
            if line.startswith('cpu MHz'):
                return float(line.split(':')[1]) * 1e6
    return 0


def run(rate, capture, packets):
    """(dropped, seconds, processor seconds of the program less those of the device, played)"""
    with tempfile.TemporaryDirectory() as folder:
        counters = os.path.join(folder, 'standin0/ports/1/hw_counters')
        os.makedirs(counters)
        with open(os.path.join(counters, 'out_of_buffer'), 'w', encoding='ascii') as file:
            file.write('0\n')
        report = os.path.join(folder, 'report')
        environment = {**os.environ, 'LD_PRELOAD': STANDIN, 'STANDIN_CAPTURE': capture,
                       'STANDIN_RATE': str(rate), 'STANDIN_LOOPS': str(PACKETS // packets + 1),
                       'STANDIN_SYSFS': folder, 'STANDIN_REPORT': report, 'STANDIN_CLOCK': '1'}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with subprocess.Popen([RPCRDMA, 'capture', '-q', '-i', 'standin0', '-w', OUT],
                              env=environment) as program:
            while not os.path.exists(report) or os.path.getsize(report) == 0:
                time.sleep(0.05)
            program.send_signal(signal.SIGTERM)
            program.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(report, encoding='ascii') as file:
            said = json.load(file)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return said['dropped'], said['seconds'], used - said['cpu'], said['played']


def attempt(rate, capture, packets):
    """(packets per second, cycles per packet) of a run that lost nothing; None: none of three. What
    else the machine does takes packets, too."""
    for _ in range(3):
        dropped, seconds, used, played = run(rate, capture, packets)
        if dropped == 0 and played / seconds > 0.95 * rate:
            return played / seconds, used / played * frequency()
    print(f'{rate} packets/s asked for, {played / seconds:.0f} played: {dropped} lost', flush=True)
    return None


def main():
    capture = os.path.join(CAPTURES, 'roce-nfs3-mini', 'capture.pcap')
    with open(capture, 'rb') as file:
        blob, packets, at = file.read(), 0, 24
    while at < len(blob):
        at += 16 + int.from_bytes(blob[at + 8:at + 12], sys.byteorder)
        packets += 1
    low, high, best, rate = 0, 0, None, 20000
    while high == 0 or high - low > low // 10:
        got = attempt(rate, capture, packets)
        if got:
            low, best = rate, got
            print(f'{got[0]:9.0f} packets per second, none lost, {got[1]:6.0f} cycles per packet',
                  flush=True)
        else:
            high = rate
        rate = rate * 2 if high == 0 else (low + high) // 2
        if rate < 1000:
            break
    if best:
        print(f'{best[0]:.0f} packets per second captured without loss, '
              f'{best[1]:.0f} cycles per packet')


main()
