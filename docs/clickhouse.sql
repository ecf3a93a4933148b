-- SPDX-License-Identifier: BSD-2-Clause
-- FINAL: of rows that were loaded twice, one. The innermost SELECT has it: 18.16 sorts no table that has it.
-- The twenty questions of docs/sql.md, for ClickHouse (18.16 or later), with its answers:
--     clickhouse-client --database rpcrdma --multiquery <docs/clickhouse.sql

-- 1. What was exported, and was all of it read?
SELECT name, packets, messages, lost, complete
FROM (SELECT name, packets, messages, lost, complete, first_time_ns FROM captures FINAL)
ORDER BY first_time_ns;

-- 2. Who talks to whom, over what, and how did it end?
SELECT client, server, carrier, version, messages, ended, ended_by
FROM (SELECT client, server, carrier, version, messages, ended, ended_by, first_time_ns
      FROM connections FINAL)
ORDER BY first_time_ns;

-- 3. Which operations took most of the time?
SELECT name, rpcs, intDiv(total_ns, 1000000) AS total_ms, intDiv(mean_ns, 1000) AS mean_us,
       intDiv(max_ns, 1000) AS max_us
FROM slow_operations ORDER BY total_ns DESC LIMIT 5;

-- 4. Which operations took more than a second, for which client?
SELECT client, name, count() AS rpcs, sum(latency_ns > 1000000000) AS over_1_s
FROM rpcs FINAL GROUP BY client, name HAVING over_1_s > 0 ORDER BY over_1_s DESC, name;

-- 5. How long does a READ take: median and 99th percentile? (Of very many: quantileTDigest.)
SELECT length(sorted) AS rpcs, intDiv(sorted[intDiv(rpcs * 50, 100)], 1000) AS p50_us,
       intDiv(sorted[intDiv(rpcs * 99, 100)], 1000) AS p99_us
FROM (SELECT arraySort(groupArray(latency_ns)) AS sorted
      FROM rpcs FINAL WHERE name = 'READ' AND latency_ns IS NOT NULL);

-- 6. Where did the time go?
SELECT intDiv(sum(latency_ns), 1000000) AS all_ms, intDiv(sum(call_ns), 1000000) AS call_ms,
       intDiv(sum(server_ns), 1000000) AS server_ms, intDiv(sum(data_ns), 1000000) AS data_ms,
       intDiv(sum(reply_ns), 1000000) AS reply_ms, intDiv(sum(stalled_ns), 1000000) AS stalled_ms
FROM rpcs FINAL;

-- 7. What held RPCs up?
SELECT stalled_by, count() AS rpcs, intDiv(sum(stalled_ns), 1000000) AS ms,
       intDiv(max(stalled_ns), 1000000) AS longest_ms
FROM rpcs FINAL WHERE stalled_by IS NOT NULL GROUP BY stalled_by ORDER BY ms DESC;

-- 8. Which RPCs were the slowest?
SELECT concat('0x', substring(concat('0000000', lower(hex(toUInt32(xid)))), -8)) AS xid, name,
       intDiv(latency_ns, 1000000) AS ms, stalled_by, call_frame, reply_frame
FROM (SELECT xid, name, latency_ns, stalled_by, call_frame, reply_frame FROM rpcs FINAL)
ORDER BY latency_ns DESC LIMIT 3;

-- 9. What was retransmitted between which hosts?
SELECT sender, receiver, packets, retransmitted, lost, naks_psn_sequence, timeouts,
       intDiv(timeout_ns, 1000000) AS timeout_ms
FROM retransmissions WHERE retransmitted > 0 ORDER BY retransmitted DESC;

-- 10. When were packets lost?
SELECT substring(toString(toDateTime(toUInt32(intDiv(time_ns, 1000000000)), 'UTC')), 12) AS second,
       count() AS naks
FROM transport_events FINAL WHERE event = 'nak' GROUP BY second ORDER BY naks DESC, second LIMIT 3;

-- 11. How long was a client at its limit of credits, by the hour?
SELECT hour, requester, intDiv(at_limit_ns, 1000000) AS ms, in_flight_max, granted_max
FROM credit_limits WHERE at_limit_ns > 0 ORDER BY ms DESC;

-- 12. How many credits were asked for, granted and used?
SELECT requester, max(requested) AS requested, max(granted) AS granted, max(in_flight) AS in_flight
FROM credit_points FINAL GROUP BY connection_id, requester ORDER BY min(time_ns);

-- 13. What are the packets of one RPC, from its Call to its Reply?
SELECT intDiv(time_ns - call_time_ns, 1000000) AS ms, frame, what, event, of
FROM (SELECT time_ns, frame, 'message' AS what, type AS event, sender AS of, call_time_ns
      FROM (SELECT connection_id, time_ns, frame, type, sender
            FROM messages FINAL WHERE xid = 0xa02efd46)
      GLOBAL ALL INNER JOIN (SELECT connection_id, call_time_ns
                             FROM rpcs FINAL WHERE xid = 0xa02efd46) USING connection_id
      UNION ALL
      SELECT time_ns, frame, 'transport' AS what, event, src AS of, call_time_ns
      FROM (SELECT connection_id, time_ns, frame, event, src
            FROM transport_events FINAL WHERE event IN ('nak', 'retransmission'))
      GLOBAL ALL INNER JOIN (SELECT connection_id, call_time_ns, reply_time_ns
                             FROM rpcs FINAL WHERE xid = 0xa02efd46) USING connection_id
      WHERE time_ns BETWEEN call_time_ns AND reply_time_ns)
ORDER BY time_ns, frame LIMIT 5;

-- 14. Which operations fail, and how?
SELECT name, coalesce(status_name, 'status ' || toString(status), 'RDMA_ERROR') AS how,
       count() AS rpcs
FROM rpcs FINAL WHERE failed GROUP BY name, how ORDER BY rpcs DESC, name;

-- 15. Which Calls had no Reply, and which were retransmitted?
SELECT sum(NOT answered) AS unanswered, sum(retransmitted) AS sent_before,
       sum(transmissions > 1) AS resent
FROM rpcs FINAL WHERE call_time_ns IS NOT NULL;

-- 16. Which operations are in the COMPOUNDs?
SELECT name, count() AS n FROM operations FINAL GROUP BY name ORDER BY n DESC, name LIMIT 4;

-- 17. How much went by RDMA, and how much in Sends?
SELECT name, sum(write_chunk_length + read_chunk_length + reply_chunk_length) AS by_rdma,
       sum(call_length + reply_length - write_chunk_length - read_chunk_length - reply_chunk_length) AS in_sends
FROM rpcs FINAL GROUP BY name ORDER BY by_rdma DESC, name LIMIT 3;

-- 18. How are chunks made up?
SELECT list, count() AS segments, uniqExact(message_id) AS messages, min(length) AS shortest,
       max(length) AS longest
FROM segments FINAL GROUP BY list ORDER BY list;

-- 19. What did `check` find?
SELECT severity, rule, count() AS findings, min(frame) AS first_frame
FROM findings FINAL GROUP BY severity, rule ORDER BY first_frame, rule;

-- 20. Which files took the time?
SELECT path, count() AS rpcs, intDiv(sum(latency_ns), 1000000) AS ms, sum(count) AS bytes
FROM rpcs FINAL WHERE path IS NOT NULL GROUP BY path ORDER BY ms DESC LIMIT 3;
