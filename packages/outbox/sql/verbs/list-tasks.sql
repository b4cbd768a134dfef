-- The first tasks of a batch, without their results.
-- Parameters: $1 batch, $2 the most rows.
-- Returns: tasks in the order of their ids.
-- Cost: a walk over the tasks of the batch. Results stay where they are: a thousand of the largest are 256 MB.
SELECT id, batch_id, task_key, handler, mode, status, pre_cnt, attempts, max_attempts, lost_cnt, worker_id, visible_at, lease_until, error,
  skipped_by, added_by, started_at, ended_at
FROM {schema}.outbox_evt WHERE batch_id = $1::bigint
ORDER BY id LIMIT $2::integer
