-- Ends tasks, and tells what depends on them; see 0004-end-tasks.sql.
-- Parameters, arrays of one length: $1 id, $2 claim_id or null, $3 status, $4 result, $5 error, $6 what successors see; and $7: whether every claim must hold.
-- Returns: rows of what and id.
-- Cost: a lookup per task and per successor.
SELECT what, id FROM {schema}.outbox_end_tasks($1::bigint[], $2::bigint[], $3::text[], $4::jsonb[], $5::jsonb[], $6::integer[], $7::boolean)
