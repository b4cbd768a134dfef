-- Removes instances that are gone for long.
-- Parameters: $1 how long, in ms; $2 at most so many.
-- Returns: the number of rows.
-- Cost: a walk over the instances.
DELETE FROM {schema}.server_instance WHERE instance_id IN (
  SELECT instance_id FROM {schema}.server_instance
  WHERE seen_at < clock_timestamp() - $1::double precision * interval '1 ms'
  LIMIT $2::integer FOR UPDATE SKIP LOCKED
)
