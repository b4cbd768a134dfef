-- Says who polls here, for the people who watch.
-- Parameters: $1 worker_id, $2 DAGs, $3 concurrency.
-- Returns: nothing.
-- Cost: one row.
INSERT INTO {schema}.outbox_worker (worker_id, dags, concurrency) VALUES ($1, $2::text[], $3::integer)
ON CONFLICT (worker_id) DO UPDATE SET dags = EXCLUDED.dags, concurrency = EXCLUDED.concurrency, seen_at = clock_timestamp()
