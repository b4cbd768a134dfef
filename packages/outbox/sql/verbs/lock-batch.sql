-- Takes the lock under which a batch is aborted, retried or failed.
-- Parameters: $1 id.
-- Returns: the batch, or no row.
-- Cost: one lookup.
SELECT * FROM {schema}.batch_instance WHERE id = $1::bigint FOR NO KEY UPDATE
