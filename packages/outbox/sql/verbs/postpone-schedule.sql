-- Notes that the batch of a schedule could not be started, and looks again later.
-- Guarantee: only while it stands as it did when it was tried; of many that tried, one is counted.
-- Parameters: $1 tenant, $2 name, $3 the period, $4 failures before this one, $5 why, $6 delay in ms.
-- Returns: its name, or no row.
-- Microseconds, which somebody may have written by hand, do not survive the way to a program and back.
-- Cost: one row.
UPDATE {schema}.outbox_schedule
SET failures = failures + 1, error = $5, look_at = clock_timestamp() + $6::double precision * interval '1 ms', updated_at = now()
WHERE tenant = $1 AND name = $2 AND date_trunc('milliseconds', next_at) = $3::timestamptz AND failures = $4::integer AND NOT paused
RETURNING name
