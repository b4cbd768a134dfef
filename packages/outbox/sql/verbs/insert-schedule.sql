-- Stores a new schedule.
-- Parameters: $1 tenant, $2 name, $3 dag, $4 cron, $5 time zone, $6 payload, $7 catch-up, $8 paused, $9 first period.
-- Returns: the schedule, or no row when somebody else has stored one of this name meanwhile.
-- Cost: one row.
INSERT INTO {schema}.outbox_schedule (tenant, name, dag, cron, time_zone, payload, catch_up, paused, next_at, look_at)
VALUES ($1, $2, $3, $4, $5, $6::jsonb, $7, $8::boolean, $9::timestamptz, $9::timestamptz)
ON CONFLICT (tenant, name) DO NOTHING
RETURNING *
