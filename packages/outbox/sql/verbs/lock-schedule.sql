-- Takes the lock under which a schedule is changed.
-- Parameters: $1 tenant, $2 name.
-- Returns: the schedule, or no row.
-- Cost: one lookup; waits for whoever starts its batches right now.
SELECT * FROM {schema}.outbox_schedule WHERE tenant = $1 AND name = $2 FOR UPDATE
