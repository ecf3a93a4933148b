# SPDX-License-Identifier: BSD-2-Clause
"""rpcrdma sanitize: what of version 2's properties is passed."""
import json
import os
import struct
import sys

import command

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'capture'))
# pylint: disable=wrong-import-position,wrong-import-order
import cm
import ngfile
import talk


def words(*values):
    return struct.pack(f'>{len(values)}I', *values)


def told(*values):
    """RDMA2_CONNPROP_FINAL of ietf-07: IDs, values and padding."""
    return words(2, 2, 32, 7, len(values)) + b''.join(words(number, len(value)) + value + odd
                                                      for number, value, odd in values)


CALL = words(1, 2, 32, 10, 0, 0, 0, 0) + words(1, 0, 2, 100003, 4, 0, 0, 0, 0, 0)
REPLY = words(1, 2, 32, 13, 0) + words(1, 1, 0, 0, 0, 0)


class Properties(command.CommandTest):
    def capture(self, *messages):
        packets = []
        one = talk.Talk(packets, talk.End('10.0.0.1', 17, 100), talk.End('10.0.0.2', 18, 500), talk.Clock())
        one.connect(cm.IP_SERVICE | 20049)
        for sender, message in ((one.client, CALL), (one.server, REPLY)) + tuple((one.client, message) for message in messages):
            one.send(sender, message)
        path = os.path.join(self.folder, 'in.pcap')
        command.pcap.write(path, packets)
        return path

    def test_values(self):
        """Numbers stay that the dialect defines: of others four bytes may be a secret, too."""
        path, out = self.capture(told(
            (1, words(8192), b''), (2, b'', b''), (4, words(16) + b'Secr', b''), (5, words(2), b''),
            (6, words(3) + b'Secr', b''), (6, words(3) + b'Sec', b'r'), (6, b'Secr', b''), (77, b'Secr', b''),
            (77, b'Sec', b'r'), (77, b'S', b'ecr'), (4, b'Sec', b'r'), (77, b'', b''))), os.path.join(self.folder, 'out.pcapng')
        self.run_command('sanitize', '-q', path, '-o', out)
        content = b''.join(packet.data for packet in ngfile.read(out).packets)
        self.assertFalse(b'Sec' in content or b'ecr' in content)
        self.assertTrue(told(
            (1, words(8192), b''), (2, b'', b''), (4, words(16, 0), b''), (5, words(2), b''),
            (6, words(3, 0), b''), (6, b'\xff' * 4 + bytes(3), b'\1'), (6, b'\xff' * 4, b''), (77, bytes(4), b''),
            (77, bytes(3), b'\1'), (77, b'\0', b'\1\1\1'), (4, bytes(3), b'\1'), (77, b'', b'')) in content)
        found = [[json.loads(line)['findings'] for line in self.run_command('check', '--json', name, status=1).splitlines()]
                 for name in (path, out)]
        self.assertEqual({one['rule'] for one in found[0][0]}, {'noncanonical', 'property-long', 'property-bad'})
        self.assertEqual(found[0], found[1])


command.main()
