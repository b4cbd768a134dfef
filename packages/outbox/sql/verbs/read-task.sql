-- One task of a batch.
-- Parameters: $1 batch, $2 key.
-- Returns: the task, or no row.
-- Cost: one lookup.
SELECT * FROM {schema}.outbox_evt WHERE batch_id = $1::bigint AND task_key = $2
