-- Lets a batch run again, with its open tasks counted under lock-tasks.
-- Guarantee: a folder looks at it, by a tick of nothing: where no task could be opened again, no end of one would ever end the batch.
-- Parameters: $1 id, $2 whether it is still failing, $3 channel to tell.
-- Returns: the batch.
-- Cost: a walk over its tasks, a deletion per tick, an insert.
WITH gone AS (
  DELETE FROM {schema}.outbox_tick WHERE batch_id = $1::bigint
), looked_at AS (
  INSERT INTO {schema}.outbox_tick (batch_id, task_key, ok_cnt, end_cnt) VALUES ($1::bigint, NULL, 0, 0)
), told AS (
  SELECT pg_notify($3::text, dag) FROM {schema}.batch_instance WHERE id = $1::bigint
)
UPDATE {schema}.batch_instance b
SET status = 'RUNNING', failing = $2::boolean, counts = NULL, ended_at = NULL, updated_at = now(),
  open_cnt = (SELECT count(*) FROM {schema}.outbox_evt e WHERE e.batch_id = b.id AND e.status IN ('READY', 'PROCESSING'))
WHERE b.id = $1::bigint AND (SELECT count(*) FROM told) > 0
RETURNING b.*
