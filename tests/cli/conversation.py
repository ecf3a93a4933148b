# SPDX-License-Identifier: BSD-2-Clause
"""What the command says of a conversation that a test makes up, for the *_test.py here and below. Puts the folder of captures/generate,
which has what makes conversations, on the path."""
import json
import os

from command import CommandTest
import cm
import rule_talk
import rules

SECOND = 10**9


def roce_source(packet):
    """Of a packet with Ethernet and IPv4 headers."""
    return '.'.join(str(byte) for byte in packet.data[26:30])


def pass_by(c, ns):
    """That time, in the middle of which a packet passes that is none of the conversation: it is no silence of the capture."""
    c.clock.now += ns // 2
    one = c.packets[-1]
    c.packets.append(one._replace(data=one.data[:12] + b'\x88\xb5' + one.data[14:], time_ns=c.clock.tick()))
    c.clock.now += ns - ns // 2


def call_in_vain(c):
    """A Call that nothing answers, and that the client's adapter sends six times again. Returns its XID."""
    xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
    c.packets.pop()  # its Ack
    for _ in range(6):
        c.clock.now += 2 * SECOND
        c.packets.append(c.packets[-1]._replace(time_ns=c.clock.tick()))
    return xid


def close_in_vain(c):
    """The client closes the connection, and nothing answers that, either."""
    c.talk.datagram(c.client, cm.dreq(c.talk.local_id, c.talk.remote_id, c.server.qpn))


def write_with_pause(c, nap_ns, delayed_ns):
    """A WRITE in the end, over TCP: for so long nothing comes of what the server reads, then one segment, and the others so long behind
    it. Returns the places of its large segments."""
    for _ in range(4):
        c.null()
    before = len(c.packets)
    c.write((16384,))
    c.talk.disconnect()
    large = [at for at, one in enumerate(c.packets) if at > before and len(one.data) > 1000]
    for at in range(large[8], len(c.packets)):
        after_ns = nap_ns + delayed_ns * (at > large[8])
        c.packets[at] = c.packets[at]._replace(time_ns=c.packets[at].time_ns + after_ns)
    return large


class ConversationTest(CommandTest):
    def captured(self, talk):
        """The path of a capture of it. talk: a function of a rule_talk.Conversation, and of True."""
        self.path = os.path.join(self.folder, 'talk.pcap')
        rules.write(self.path, talk, True)
        return self.path

    def report(self, talk, *arguments):
        return json.loads(self.run_command('report', '--json', *arguments, self.captured(talk)))
