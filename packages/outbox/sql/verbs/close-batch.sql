-- Writes down that a batch was aborted, and forgets what is still to be counted of it.
-- Guarantee: after abort-batch, in its transaction: nothing can add a tick any more.
-- Parameters: $1 id.
-- Returns: the batch.
-- Cost: one update, a deletion per tick.
WITH gone AS (
  DELETE FROM {schema}.outbox_tick WHERE batch_id = $1::bigint
)
UPDATE {schema}.batch_instance SET status = 'ABORTED', open_cnt = 0, ended_at = clock_timestamp(), updated_at = now()
WHERE id = $1::bigint
RETURNING *
