-- Deletes operations that ended longer ago, the oldest first.
-- Guarantee: rows that somebody is changing right now are passed over. Repeated after a lost reply it goes on with the next ones.
-- Parameters: $1 how long they are kept, in ms, $2 the most rows.
-- Returns: how many, as the count of rows.
DELETE FROM {schema}.operation WHERE op_id = ANY (ARRAY(
  SELECT op_id FROM {schema}.operation
  WHERE ended_at <= (SELECT {schema}.operation_now()) - $1::double precision * interval '1 ms'
  ORDER BY ended_at, op_id LIMIT $2::integer FOR UPDATE SKIP LOCKED
))
