-- Starts a batch with all its tasks, unless its business key has one already; see 0002-start-batch.sql.
-- The applied version in force counts before the given one.
-- Parameters: $1 tenant, $2 dag, $3 version or null, $4 business key, $5 payload, $6 traceparent, $7 rerun, $8 schedule, $9 channel or null.
-- Returns: the batch, or no row.
-- Cost: a lookup, and an insert per task.
SELECT * FROM {schema}.outbox_start_batch(
  $1::text, $2::text, coalesce((SELECT version FROM {schema}.dag_in_force WHERE name = $2::text), $3::integer), $4::text, $5::jsonb, $6::text,
  $7::boolean, $8::text, $9::text
)
