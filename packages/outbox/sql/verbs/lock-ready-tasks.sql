-- Locks what the failure of a batch changes: the failed task and all that has not started, in the order of the ids.
-- Parameters: $1 batch, $2 id of the failed task.
-- Returns: nothing of use.
-- Cost: a walk over the tasks of the batch, a lock per task that has not started.
WITH held AS (
  SELECT id FROM {schema}.outbox_evt WHERE batch_id = $1::bigint AND (status = 'READY' OR id = $2::bigint) ORDER BY id FOR UPDATE
)
SELECT count(*)::integer AS held FROM held
