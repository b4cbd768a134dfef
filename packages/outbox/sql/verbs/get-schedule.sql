-- One schedule.
-- Parameters: $1 tenant, $2 name.
-- Returns: the schedule, or no row.
-- Cost: one lookup.
SELECT * FROM {schema}.outbox_schedule WHERE tenant = $1 AND name = $2
