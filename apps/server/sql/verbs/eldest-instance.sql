-- Who does what is to be done once for all instances that answer requests.
-- Parameters: $1 who was not heard of for so long is gone, in ms.
-- Returns: one row, or none.
-- Cost: a walk over the instances.
SELECT instance_id FROM {schema}.server_instance
WHERE role <> 'worker' AND seen_at > clock_timestamp() - $1::double precision * interval '1 ms'
ORDER BY started_at, instance_id LIMIT 1
