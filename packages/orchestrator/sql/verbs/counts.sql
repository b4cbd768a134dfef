-- How many operations there are in each state, how many dead letters, and how long the longest waiting one has been due.
-- Guarantee: changes nothing.
-- Returns: one row.
-- Cost: a walk along the index of those that have ended and along that of those that have not.
SELECT coalesce(sum(n) FILTER (WHERE state = 'PENDING'), 0)::double precision AS pending,
  coalesce(sum(n) FILTER (WHERE state = 'IN_PROGRESS'), 0)::double precision AS in_progress,
  coalesce(sum(n) FILTER (WHERE state = 'COMPLETED'), 0)::double precision AS completed,
  coalesce(sum(n) FILTER (WHERE state = 'FAILED'), 0)::double precision AS failed,
  coalesce(sum(dead), 0)::double precision AS dead_letters,
  greatest(0, coalesce(round(1000 * extract(epoch FROM {schema}.operation_now() - (
    SELECT due_at FROM {schema}.operation WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1
  ))), 0))::double precision AS oldest_due_ms
FROM (
  SELECT state, count(*) AS n, 0 AS dead FROM {schema}.operation WHERE ended_at IS NULL GROUP BY state
  UNION ALL
  SELECT state, count(*), count(*) FILTER (WHERE dead_letter) FROM {schema}.operation WHERE ended_at IS NOT NULL GROUP BY state
) t
