-- SPDX-License-Identifier: BSD-2-Clause
-- Indexes and views of `rpcrdma export --sqlite`, made at the end of each export. docs/sql.md shows
-- what to ask them.

CREATE INDEX IF NOT EXISTS rpcs_time ON rpcs(call_time_ns);
CREATE INDEX IF NOT EXISTS rpcs_connection ON rpcs(connection_id, xid);
CREATE INDEX IF NOT EXISTS rpcs_name ON rpcs(name, latency_ns);
CREATE INDEX IF NOT EXISTS operations_rpc ON operations(rpc_id);
CREATE INDEX IF NOT EXISTS messages_xid ON messages(connection_id, xid);
CREATE INDEX IF NOT EXISTS segments_message ON segments(message_id);
CREATE INDEX IF NOT EXISTS transport_events_time ON transport_events(connection_id, time_ns);
CREATE INDEX IF NOT EXISTS credit_points_time ON credit_points(connection_id, requester, time_ns);
CREATE INDEX IF NOT EXISTS findings_rule ON findings(rule, connection_id);
CREATE INDEX IF NOT EXISTS paths_connection ON paths(connection_id);
CREATE INDEX IF NOT EXISTS connections_path ON connections(path, set_up, first_time_ns);

-- Pieces of a capture that were exported one by one: all but the first have no set-up. Each is looked
-- for once, by the index, however few connections SQLite takes the table to have.
UPDATE connections SET part_of = (
    SELECT whole.id FROM connections AS whole INDEXED BY connections_path
    WHERE whole.path = connections.path AND whole.set_up = 1
      AND whole.first_time_ns <= connections.first_time_ns
    ORDER BY whole.first_time_ns DESC LIMIT 1)
WHERE set_up = 0 AND part_of IS NOT (
    SELECT whole.id FROM connections AS whole INDEXED BY connections_path
    WHERE whole.path = connections.path AND whole.set_up = 1
      AND whole.first_time_ns <= connections.first_time_ns
    ORDER BY whole.first_time_ns DESC LIMIT 1);

-- Operations by client and server, the one that took most time first.
CREATE VIEW IF NOT EXISTS slow_operations AS
SELECT client, server, name, count(*) AS rpcs, sum(latency_ns) AS total_ns,
       CAST(avg(latency_ns) AS INTEGER) AS mean_ns, max(latency_ns) AS max_ns,
       sum(stalled_ns) AS stalled_ns, sum(answered = 0) AS unanswered, sum(failed) AS failed
FROM rpcs GROUP BY client, server, name ORDER BY total_ns DESC;

-- What was sent again between two hosts, in each direction.
CREATE VIEW IF NOT EXISTS retransmissions AS
SELECT CASE WHEN p.receiver = c.client THEN c.server ELSE c.client END AS sender, p.receiver,
       sum(p.packets) AS packets, sum(p.retransmitted) AS retransmitted, sum(p.lost) AS lost,
       sum(p.naks_psn_sequence) AS naks_psn_sequence, sum(p.naks_rnr) AS naks_rnr,
       sum(p.timeouts) AS timeouts, sum(p.timeout_ns) AS timeout_ns
FROM paths AS p JOIN connections AS c ON c.id = p.connection_id
GROUP BY sender, p.receiver ORDER BY retransmitted DESC;

-- How long each Requester was at its limit of credits, by the hour. A time at the limit that goes on
-- in the next hour is divided between the two, so an hour has 3600000000000 ns at most. The last one
-- ends with the last packet of the connection.
CREATE VIEW IF NOT EXISTS credit_limits AS
WITH RECURSIVE parts(connection_id, requester, at_limit, in_flight, granted, from_ns, until_ns) AS (
    SELECT p.connection_id, p.requester, p.at_limit, p.in_flight, p.granted, p.time_ns,
           lead(p.time_ns, 1, max(p.time_ns, coalesce(c.last_time_ns, 0)))
               OVER (PARTITION BY p.connection_id, p.requester ORDER BY p.time_ns, p.rowid)
    FROM credit_points AS p LEFT JOIN connections AS c ON c.id = p.connection_id
    UNION ALL
    SELECT connection_id, requester, at_limit, in_flight, granted,
           (from_ns / 3600000000000 + 1) * 3600000000000, until_ns
    FROM parts WHERE at_limit AND (from_ns / 3600000000000 + 1) * 3600000000000 < until_ns)
SELECT strftime('%Y-%m-%d %H:00', from_ns / 1000000000, 'unixepoch') AS hour, connection_id,
       requester,
       sum(CASE WHEN at_limit
                THEN min(until_ns, (from_ns / 3600000000000 + 1) * 3600000000000) - from_ns
                ELSE 0 END) AS at_limit_ns,
       max(in_flight) AS in_flight_max, max(granted) AS granted_max
FROM parts GROUP BY hour, connection_id, requester;

-- Everything of an RPC in order: its messages, and what happened on its connection meanwhile. XIDs are
-- used again, and by both ends: a message belongs to the latest Call of its direction of RPC. What has
-- no Reply went on until its connection's last packet.
CREATE VIEW IF NOT EXISTS rpc_events AS
SELECT r.id AS rpc_id, m.time_ns, m.frame, 'message' AS what, m.type AS event, m.sender AS of,
       m.length AS bytes
FROM rpcs AS r JOIN messages AS m ON m.connection_id = r.connection_id AND m.xid = r.xid
WHERE coalesce(((nullif(m.sender, 'unknown') = 'client') = (m.direction = 'call')) <> r.reverse, 1)
  AND CASE WHEN m.frame IN (r.call_frame, r.reply_frame) THEN 1
           WHEN r.call_time_ns IS NULL THEN 0
           ELSE NOT EXISTS (SELECT 1 FROM rpcs AS n
                            WHERE n.connection_id = r.connection_id AND n.xid = r.xid
                              AND n.reverse IS r.reverse
                              AND (m.frame IN (n.call_frame, n.reply_frame)
                                   OR (n.call_time_ns > r.call_time_ns
                                       AND n.call_time_ns <= m.time_ns)
                                   OR (n.call_time_ns < r.call_time_ns
                                       AND r.call_time_ns > m.time_ns))) END
UNION ALL
SELECT r.id, e.time_ns, e.frame, 'transport', e.event, e.src, NULL
FROM rpcs AS r JOIN transport_events AS e ON e.connection_id = r.connection_id
     AND e.time_ns BETWEEN r.call_time_ns AND coalesce(
           r.reply_time_ns, (SELECT last_time_ns FROM connections WHERE id = r.connection_id))
ORDER BY 1, 2;
