# SPDX-License-Identifier: BSD-2-Clause
"""report of a connection that hosts open when another one of theirs, which took the place of one that was lost, has come and gone."""
import unittest

from conversation import ConversationTest, call_in_vain, close_in_vain
import cm
import rule_talk

SECOND = 10**9
INVALID_SERVICE_ID = 8


def later(c, number, first):
    """Another mount of the same hosts, long after."""
    c.clock.now += 100 * SECOND
    one = c.beside(number)
    one.xid = first + 1000000
    one.null()
    one.null()
    one.talk.disconnect()


def continued(c, number, xid):
    """The connection on which that Call comes again; the client closes it in the end."""
    one = c.beside(number)
    one.xid = c.xid
    one.reply(one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid), bytes(4) + rule_talk.ATTRIBUTES)
    one.null()
    one.talk.disconnect()


class Since(ConversationTest):
    def failed(self, talk):
        """Connections that failed, and those that are named with them."""
        return [one['text'] for one in self.report(talk)['causes'] if one['cause'] in ('connection-failed', 'server-restarted')]

    def test_attempt_in_vain(self):
        """An attempt that was repeated at once got no answer, as the next one, half a second later, shows."""
        def talk(c, _):
            c.null()
            xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            c.clock.now += 2 * SECOND
            close_in_vain(c)
            lost = c.beside(2).talk
            for _ in range(2):
                lost.datagram(lost.client, cm.req(lost.local_id, cm.IP_SERVICE | rule_talk.PORT, lost.client.qpn, lost.client.psn,
                                                  c.client.address, c.server.address, b''))
            c.clock.now += SECOND // 2
            refused = c.beside(3).talk
            refused.datagram(refused.client, cm.req(refused.local_id, cm.IP_SERVICE | rule_talk.PORT, refused.client.qpn,
                                                    refused.client.psn, c.client.address, c.server.address, b''))
            refused.datagram(refused.server, cm.rej(refused.remote_id, refused.local_id, INVALID_SERVICE_ID))
            c.clock.now += 3 * SECOND
            continued(c, 4, xid)
            later(c, 5, xid)
        text, = self.failed(talk)
        self.assertIn('Connection 1 failed with it: 1 Call of it came again on connection 4, ', text)
        self.assertNotIn('connection 5', str(self.report(talk)['causes']))

    def test_begun_at_the_end(self):
        """The capture ends when the client has just asked for the next connection: that took no place yet."""
        for asked in (False, True):
            def talk(c, _, asked=asked):
                c.null()
                call_in_vain(c)
                close_in_vain(c)
                if asked:
                    c.beside(2).begin()
                    del c.packets[-2:]
            cause, = self.report(talk)['causes']
            self.assertEqual(cause['cause'], 'connection-failed', asked)
            self.assertIn('Connection 1 failed. The server stopped answering', cause['text'])

    def test_attempts_between(self):
        """A server dies with a Call, the client closes the connection, asks for the next one in vain, and
        gets one for another mount at last: that is one cause, which has the Call."""
        for attempts in (0, 1, 2):
            def talk(c, _, attempts=attempts):
                c.null()
                xid = call_in_vain(c)
                close_in_vain(c)
                for number in range(attempts):
                    lost = c.beside(2 + number).talk
                    for _ in range(3):
                        lost.datagram(lost.client, cm.req(lost.local_id, cm.IP_SERVICE | rule_talk.PORT, lost.client.qpn,
                                                          lost.client.psn, c.client.address, c.server.address, b''))
                        c.clock.now += 4 * SECOND
                later(c, 9, xid)
            cause, = self.report(talk)['causes']
            self.assertEqual((cause['cause'], cause['rpcs']), ('connection-failed', 1), cause)
            self.assertIn('1 Call on connection 1 was never answered: 12.0 s passed', cause['text'])

    def test_one_of_two(self):
        """Two connections are lost, and the client opens one in their place, as it needs no more, and closes it."""
        def talk(c, _):
            other = c.beside(2)
            other.xid = c.xid + 500000
            other.null()
            c.null()
            other.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            c.clock.now += 5 * SECOND
            for one in (c, other):
                one.talk.datagram(c.client, cm.dreq(one.talk.local_id, one.talk.remote_id, one.talk.server.qpn))
            continued(c, 3, xid)
            later(c, 4, xid)
        self.assertNotIn('connection 4', str(self.failed(talk)))


if __name__ == '__main__':
    unittest.main()
