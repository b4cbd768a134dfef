-- Tasks of a batch, in pages.
-- Parameters: $1 batch, $2 after this id or null, $3 the most rows, $4 status or null.
-- Returns: tasks in the order of their ids.
-- Cost: a walk over the tasks of the batch.
SELECT * FROM {schema}.outbox_evt
WHERE batch_id = $1::bigint AND ($2::bigint IS NULL OR id > $2::bigint) AND ($4::text IS NULL OR status = $4::{schema}.outbox_status)
ORDER BY id LIMIT $3::integer
