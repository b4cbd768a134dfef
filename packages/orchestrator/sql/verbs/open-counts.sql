-- How many operations that have not ended there are in each state, and how long the longest waiting one has been due.
-- Guarantee: changes nothing.
-- Returns: one row.
-- Cost: a walk along the index of those that have not ended, however many have.
SELECT count(*) FILTER (WHERE state = 'PENDING')::double precision AS pending,
  count(*) FILTER (WHERE state = 'IN_PROGRESS')::double precision AS in_progress,
  greatest(0, coalesce(round(1000 * extract(epoch FROM {schema}.operation_now() - (
    SELECT due_at FROM {schema}.operation WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1
  ))), 0))::double precision AS oldest_due_ms
FROM {schema}.operation WHERE ended_at IS NULL
