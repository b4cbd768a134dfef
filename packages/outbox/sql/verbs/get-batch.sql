-- One batch.
-- Parameters: $1 id.
-- Returns: the batch, or no row.
-- Cost: one lookup.
SELECT * FROM {schema}.batch_instance WHERE id = $1::bigint
