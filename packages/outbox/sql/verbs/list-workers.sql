-- Who polls.
-- Parameters: $1 how long ago a live worker was last heard of at most, in ms.
-- Returns: workers by id, a thousand at most.
-- Cost: a walk over the workers.
SELECT *, seen_at > clock_timestamp() - $1::double precision * interval '1 ms' AS alive
FROM {schema}.outbox_worker ORDER BY worker_id LIMIT 1000
