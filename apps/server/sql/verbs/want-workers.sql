-- Wishes a number of workers of one instance, or of all that run jobs and are alive.
-- Parameters: $1 workers, $2 an instance by either of its ids, or null for all; $3 how long ago a live one was last heard of at most, in ms.
-- Guarantee: repeated it wishes the same again.
-- Returns: the instances it was wished of.
-- Cost: a walk over the instances.
UPDATE {schema}.server_instance SET wanted_workers = $1::integer, wanted_at = clock_timestamp()
WHERE worker_count IS NOT NULL AND ($2::text IS NULL OR $2 IN (instance_id, bulk_instance_id))
  AND seen_at > clock_timestamp() - $3::double precision * interval '1 ms'
RETURNING instance_id, worker_count
