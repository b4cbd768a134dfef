-- Adds tasks to a batch that runs; see 0006-add-tasks.sql.
-- Parameters: $1 batch, $2 adding task, $3 the most tasks of a batch; arrays: $4 keys, $5 DAGs, $6 handlers, $7 modes, $8 policies, $9 tries,
--   $10 timeouts, $11 payloads; $12 and $13 edges to successors; $14 parents above which a join is wide.
-- Returns: nothing of use.
-- Cost: an insert per task.
SELECT {schema}.outbox_add_tasks($1::bigint, $2::text, $3::integer, $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::integer[],
  $10::integer[], $11::jsonb[], $12::text[], $13::text[], $14::integer)
