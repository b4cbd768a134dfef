-- A heartbeat: says what this instance is and does, and asks what is wished of it.
-- Parameters: $1 instance_id, $2 role, $3 version, $4 host, $5 pid, $6 bulk_instance_id, $7 worker_count or null, $8 runs.
-- Returns: one row: the wish, and the time of the database.
-- Cost: one row.
INSERT INTO {schema}.server_instance AS i (instance_id, role, version, host, pid, bulk_instance_id, worker_count, runs)
VALUES ($1, $2, $3, $4, $5::integer, $6, $7::integer, $8::jsonb)
ON CONFLICT (instance_id) DO UPDATE
  SET seen_at = clock_timestamp(), worker_count = EXCLUDED.worker_count, runs = EXCLUDED.runs
RETURNING i.wanted_workers, i.wanted_at::text AS wanted_at, clock_timestamp() AS now
