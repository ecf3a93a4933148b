# SPDX-License-Identifier: BSD-2-Clause
"""report of losses of one packet and of several at once; of a slow server beside them; and of what --check-icrc looked at."""
import struct
import unittest

from conversation import ConversationTest
import rule_talk
import rules_transport

SECOND = 10**9
LENGTH = 32768


def slow_read(c, ns):
    """A READ whose data the server sends that late."""
    chunk = c.memory.chunk(LENGTH)
    xid = c.read_call(LENGTH, write=[chunk])
    c.clock.now += ns
    returned = c.push(chunk, rule_talk.data(LENGTH))
    c.reply(xid, c.read_results(LENGTH), write=[returned])


def lossy_read(c, lost):
    """So many packets of the data of a READ are lost before the place of capture, and asked for by a Nak."""
    before = len(c.packets)
    c.read((LENGTH,))
    sent = c.packets[before + 10:]
    del c.packets[before + 10:]
    rules_transport.again(c, sent[lost], 0)
    rules_transport.nak(c, c.client, int.from_bytes(sent[0].data[51:54], 'big'), rules_transport.SEQUENCE_ERROR)
    for one in sent:
        rules_transport.again(c, one, 0)


class Trains(ConversationTest):
    def causes(self, lost, slow=3, read=slow_read):
        def talk(c, _):
            for number in range(12):
                c.null()
                if number % 2:
                    lossy_read(c, lost)
                elif number // 2 < slow:
                    read(c, 3 * SECOND // 2)
                c.clock.now += SECOND
        return {one['cause']: one for one in self.report(talk)['causes']}

    def test_responses_of_many_packets(self):
        """Packets are lost one at a time before the place of capture: not all of a READ's, so the server was slow. That is not
        known where several are lost at once, nor where what it sends is one packet."""
        causes = self.causes(1)
        self.assertEqual(set(causes), {'lost-to-client', 'slow-server'})
        slow = causes['slow-server']
        self.assertEqual((slow['rpcs'], slow['confidence']), (3, 'medium'))
        self.assertAlmostEqual(slow['cost_ns'], 9 * SECOND // 2, delta=SECOND // 100)
        self.assertIn('packets were lost, or are not in the capture', slow['against'])
        self.assertNotIn('slow-server', self.causes(4))

        def one_packet(c, ns):
            xid = c.call(rule_talk.NULL)
            c.clock.now += ns
            c.reply(xid)
        self.assertEqual(set(self.causes(1, read=one_packet)), {'lost-to-client'})


def without_ip_ids(packets):
    """As of an adapter that does not count them."""
    for at, one in enumerate(packets):
        if one.data[36:38] != b'\x12\xb7':
            continue
        header = bytearray(one.data[14:34])
        header[4:6] = header[10:12] = bytes(2)
        total = sum(struct.unpack('>10H', header))
        header[10:12] = (0xffff - (total & 0xffff) - (total >> 16)).to_bytes(2, 'big')
        packets[at] = one._replace(data=one.data[:14] + bytes(header) + one.data[34:])


class AtOnce(ConversationTest):
    def test_several_lost(self):
        """A Nak names the first of four packets that are lost at once. All of them come again soon after, and none is late."""
        def talk(c, _):
            for _ in range(6):
                c.null()
                lossy_read(c, 4)
                c.clock.now += SECOND
            without_ip_ids(c.packets)
        cause, = self.report(talk)['causes']
        self.assertEqual((cause['cause'], cause['confidence']), ('lost-to-client', 'high'))
        self.assertIn('6 Naks, 30 packets retransmitted', cause['text'])


class Damaged(ConversationTest):
    def test_more_with_check_icrc(self):
        """One packet with another PSN, and three with other data: only --check-icrc shows these, which the report says."""
        def talk(c, _):
            for number in range(12):
                c.null()
                if number % 3 == 0:
                    before = len(c.packets)
                    c.read((LENGTH,))
                    one = c.packets[before + 10]
                    data = bytearray(one.data)
                    data[100 if number else 51] ^= 1
                    c.packets.insert(before + 10, one._replace(data=bytes(data)))
        for arguments, words in (((), '1 packet was damaged'), (('--check-icrc',), '4 packets were damaged')):
            cause, = (one for one in self.report(talk, *arguments)['causes'] if one['cause'] == 'damaged')
            self.assertIn(words, cause['text'])
            self.assertEqual('there may be more: --check-icrc looks at all' in cause.get('against', ''), not arguments)


if __name__ == '__main__':
    unittest.main()
