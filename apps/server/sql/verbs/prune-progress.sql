-- Removes the progress of groups that make none any more, and the oldest of too many.
-- Parameters: $1 how long ago the last point was, in ms; $2 rows that may stay; $3 at most so many.
-- Returns: the number of rows.
-- Cost: an index walk over what is removed, and one over what may stay.
DELETE FROM {schema}.server_progress WHERE group_id IN (
  SELECT group_id FROM {schema}.server_progress
  WHERE slot < (extract(epoch FROM clock_timestamp()) - $1::double precision / 1000) / 10
    OR slot <= (SELECT slot FROM {schema}.server_progress ORDER BY slot DESC OFFSET $2::integer LIMIT 1)
  ORDER BY slot LIMIT $3::integer FOR UPDATE SKIP LOCKED
)
