-- Forgets a worker that has stopped, and those nobody has heard of for a day.
-- Parameters: $1 worker_id, or null for those of whom nobody has heard only.
-- Returns: nothing.
-- Cost: a walk over the workers.
DELETE FROM {schema}.outbox_worker WHERE worker_id = $1 OR seen_at < clock_timestamp() - interval '1 day'
