-- Removes old entries of the audit log.
-- Parameters: $1 how old, in ms; $2 at most so many.
-- Returns: the number of rows.
-- Cost: an index walk over what is removed.
DELETE FROM {schema}.server_audit WHERE id IN (
  SELECT id FROM {schema}.server_audit WHERE at < clock_timestamp() - $1::double precision * interval '1 ms'
  ORDER BY at LIMIT $2::integer FOR UPDATE SKIP LOCKED
)
