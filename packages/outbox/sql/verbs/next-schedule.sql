-- When a schedule is due next.
-- Parameters: none.
-- Returns: one row, wait_ms: 0 or less when one is due now, null when there is none.
-- Cost: a look at the end of an index.
SELECT extract(epoch FROM min(look_at) - clock_timestamp())::double precision * 1000 AS wait_ms
FROM {schema}.outbox_schedule WHERE NOT paused
