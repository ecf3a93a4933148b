# SPDX-License-Identifier: BSD-2-Clause
"""The same capture, the same output: hashes have another key in each run, and their order shows nowhere."""
import os
import subprocess
import unittest

from command import RPCRDMA, CommandTest, capture, pcap
import roce

RUNS = 4  # two equal entries of a table are in the same order by chance in one of two
COMMANDS = (
    ('report',), ('report', '--json'), ('report', '--slow', '1', '--json'), ('trace', '--slowest'), ('decode', '-V'),
    ('decode', '--json'), ('decode', '--summary'), ('decode', '--summary', '--json'), ('rpcs',), ('rpcs', '--json'),
    ('rpcs', '--summary', '--json'), ('rpcs', '--per', 'file', '--json'), ('rpcs', '--per', 'user', '--json'),
    ('rpcs', '--top', '9', '--json'), ('rpcs', '--histogram'), ('connections', '-V'), ('connections', '--json'),
    ('credits', '--json'), ('credits', '--summary'), ('check', '--json'), ('check', '--summary', '--json'),
    ('check', '--format', 'sarif'), ('export', '--ndjson', '-'), ('extract', '-w', '-'))


class Same(CommandTest):
    def runs(self, *arguments):
        outputs = set()
        for _ in range(RUNS):
            run = subprocess.run([RPCRDMA, *arguments], capture_output=True, check=False, timeout=120)
            self.assertIn(run.returncode, (0, 1), run.stderr)
            self.assertNotEqual(run.stdout, b'')
            outputs.add(run.stdout)
        return outputs

    def test_every_command(self):
        for name in ('roce-long-call', 'roce-nfs3-mini', 'iwarp-nfs41-mini'):
            for command in COMMANDS:
                with self.subTest(name=name, command=command):
                    self.assertEqual(len(self.runs(*command, capture(name))), 1)

    def test_checksums(self):
        """Of many sources, some of which leave ICRCs wrong throughout: each is judged by its own packets."""
        packets, out = [p for p in self.packets() if p.length == len(p.data) and roce.parse(p.data, p.length)][:24], []
        for host in range(600):
            for packet in packets:
                data = bytearray(packet.data)
                for at in (26, 30):  # IPv4's addresses
                    data[at:at + 3] = 10, host >> 8, host & 0xFF
                data[-4:] = roce.icrc(data[14:34], data[34:-4]) if host % 2 else bytes(4)
                out.append(packet._replace(data=bytes(data), time_ns=packet.time_ns + host * 1000))
        path = os.path.join(self.folder, 'many.pcap')
        pcap.write(path, sorted(out, key=lambda packet: packet.time_ns))
        for command in (('check', '--json'), ('rpcs', '--json')):
            self.assertEqual(len(self.runs(*command, '--check-icrc', path)), 1)
        said = self.run_command('check', '--check-icrc', '--summary', path, status=1)
        self.assertRegex(said, fr'(?m)\bicrc\b.*\b{300 * len(packets)}\b')

    def test_pages_and_differences(self):
        pages = set()
        for number in range(RUNS):
            path = os.path.join(self.folder, f'{number}.html')
            self.run_command('report', '--html', path, capture('roce-long-call'))
            with open(path, 'rb') as page:
                pages.add(page.read())
        self.assertEqual(len(pages), 1)
        self.assertEqual(len(self.runs('diff', '--json', capture('roce-nfs3-mini'), capture('iwarp-nfs3-mini'))), 1)


if __name__ == '__main__':
    unittest.main(argv=['same_test'])
