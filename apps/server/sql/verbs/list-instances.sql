-- Who is there, and who was within the last day.
-- Parameters: $1 how long ago a live instance was last heard of at most, in ms; $2 how long ago one that is gone was, in ms.
-- Returns: instances, those alive first, a thousand at most.
-- Cost: a walk over the instances.
SELECT *, seen_at > clock_timestamp() - $1::double precision * interval '1 ms' AS alive
FROM {schema}.server_instance
WHERE seen_at > clock_timestamp() - $2::double precision * interval '1 ms'
ORDER BY alive DESC, started_at, instance_id LIMIT 1000
