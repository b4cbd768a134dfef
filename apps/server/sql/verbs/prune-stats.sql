-- Removes the rows of instances that write no more: the whole ring of one that writes has come round within a day.
-- Parameters: $1 how long ago the slot was, in ms; $2 at most so many.
-- Returns: the number of rows.
-- Cost: an index walk over what is removed, once for each ring.
DELETE FROM {schema}.server_stat s USING (
  SELECT step, instance_id, place FROM {schema}.server_stat
  WHERE step IN (10, 60) AND slot < (extract(epoch FROM clock_timestamp()) - $1::double precision / 1000) / step
    AND NOT EXISTS (SELECT FROM {schema}.server_instance i WHERE i.instance_id = server_stat.instance_id)
  LIMIT $2::integer FOR UPDATE SKIP LOCKED
) old
WHERE s.step = old.step AND s.instance_id = old.instance_id AND s.place = old.place
