# SPDX-License-Identifier: BSD-2-Clause
"""What the command says of a capture of which one packet was damaged, for the damaged_*_test.py beside."""
import json
import os
import subprocess

import command
from command import pcap


def with_bit(packet, at, bit):
    data = bytearray(packet.data)
    data[at] ^= bit
    return packet._replace(data=bytes(data))


def with_another(packet):
    """In its place a packet of a protocol that nobody reads."""
    return packet._replace(data=packet.data[:12] + b'\x88\xb5' + bytes(len(packet.data) - 14))


class DamagedTest(command.CommandTest):
    def results(self, packets):
        """Messages, RPCs, rules of findings, causes (name and text) and connections."""
        path = os.path.join(self.folder, 'one.pcap')
        pcap.write(path, packets)
        rules = [finding['rule'] for line in self.objects('check', path) for finding in line['findings']]
        messages = [line for line in self.objects('decode', path) if 'xid' in line]
        causes = {cause['cause']: cause['text'] for cause in self.objects('report', path)[0]['causes']}
        return messages, self.objects('rpcs', path), rules, causes, self.objects('connections', path)

    def objects(self, name, path):
        options = ['-n', '--limit=0'] if name == 'check' else []
        run = subprocess.run([command.RPCRDMA, name, '--json', *options, path], stdout=subprocess.PIPE, check=False)
        self.assertIn(run.returncode, (0, 1))  # 1: check found something
        return [json.loads(line) for line in run.stdout.splitlines()]
