-- Changes a schedule, under lock-schedule. Failures of what it was before are forgotten.
-- Parameters: $1 tenant, $2 name, $3 dag, $4 cron, $5 time zone, $6 payload or null for the present one, $7 catch-up, $8 paused, $9 next period.
-- Returns: the schedule.
-- Cost: one row.
UPDATE {schema}.outbox_schedule
SET dag = $3, cron = $4, time_zone = $5, payload = coalesce($6::jsonb, payload), catch_up = $7, paused = $8::boolean, next_at = $9::timestamptz,
  look_at = $9::timestamptz, failures = 0, error = NULL, updated_at = now()
WHERE tenant = $1 AND name = $2
RETURNING *
