-- Takes tasks that can run now; see 0003-claim-ready.sql.
-- Parameters: $1 DAGs, $2 their versions, $3 the most tasks, $4 worker_id, $5 lease in ms.
-- Returns: one row per task, with what its handler is given.
-- Cost: a lookup per task and per predecessor.
SELECT * FROM {schema}.outbox_claim_ready($1::text[], $2::integer[], $3::integer, $4::text, $5::double precision)
