-- Views that answer usual questions, as those of SQLite do.

-- Operations by client and server, the one that took most time first.
CREATE VIEW IF NOT EXISTS rpcrdma.slow_operations AS
SELECT client, server, name, count() AS rpcs, sum(latency_ns) AS total_ns,
       intDiv(sum(latency_ns), count(latency_ns)) AS mean_ns, max(latency_ns) AS max_ns,
       sum(stalled_ns) AS stalled_ns, sum(answered = 0) AS unanswered, sum(failed) AS failed
FROM rpcrdma.rpcs FINAL GROUP BY client, server, name ORDER BY total_ns DESC;

-- What was sent again between two hosts, in each direction.
CREATE VIEW IF NOT EXISTS rpcrdma.retransmissions AS
SELECT if(receiver = client, server, client) AS sender, receiver,
       sum(packets) AS packets, sum(retransmitted) AS retransmitted, sum(lost) AS lost,
       sum(naks_psn_sequence) AS naks_psn_sequence, sum(naks_rnr) AS naks_rnr,
       sum(timeouts) AS timeouts, sum(timeout_ns) AS timeout_ns
FROM (SELECT connection_id, receiver, packets, retransmitted, lost, naks_psn_sequence, naks_rnr,
             timeouts, timeout_ns
      FROM rpcrdma.paths FINAL)
GLOBAL ALL INNER JOIN (SELECT id AS connection_id, client, server FROM rpcrdma.connections FINAL)
USING connection_id
GROUP BY sender, receiver ORDER BY retransmitted DESC;

-- How long each Requester was at its limit of credits, by the hour. A time at the limit that goes on
-- in the next hour is divided between the two, so an hour has 3600000000000 ns at most. The last one
-- ends with the last packet of the connection.
CREATE VIEW IF NOT EXISTS rpcrdma.credit_limits AS
SELECT concat(substring(toString(toDateTime(toUInt32(number * 3600), 'UTC')), 1, 13), ':00') AS hour,
       connection_id, requester,
       sum(if(point.3 = 1, toInt64(least(next_ns, toInt64(number + 1) * 3600000000000)) -
                           toInt64(greatest(point.1, toInt64(number) * 3600000000000)), 0)) AS at_limit_ns,
       max(point.4) AS in_flight_max, max(point.5) AS granted_max
FROM (SELECT connection_id, requester, point, next_ns,
             intDiv(point.1, 3600000000000) +
             arrayJoin(range(toUInt64(if(point.3 = 1 AND next_ns > point.1,
                                         intDiv(next_ns - 1, 3600000000000) -
                                         intDiv(point.1, 3600000000000) + 1, 1)))) AS number
      FROM (SELECT connection_id, requester,
                   arraySort(groupArray((time_ns, ifNull(step, 0), ifNull(at_limit, 0), ifNull(in_flight, 0),
                                         ifNull(granted, 0)))) AS points,
                   arrayMap(p -> p.1, points) AS times,
                   arrayPushBack(arrayPopFront(times),
                                 greatest(arrayReduce('max', times), max(ifNull(last_time_ns, 0)))) AS following
            FROM (SELECT connection_id, requester, time_ns, step, at_limit, in_flight, granted
                  FROM rpcrdma.credit_points FINAL)
            GLOBAL ALL LEFT JOIN (SELECT id AS connection_id, last_time_ns
                                  FROM rpcrdma.connections FINAL) USING connection_id
            GROUP BY connection_id, requester)
      ARRAY JOIN points AS point, following AS next_ns)
GROUP BY hour, connection_id, requester;
