-- What is known of the times of a batch's tasks.
-- Parameters: $1 batch.
-- Returns: a row per task.
-- Cost: a walk over the tasks of the batch.
SELECT task_key, handler, status,
  extract(epoch FROM coalesce(ended_at, clock_timestamp()) - started_at)::double precision * 1000 AS ran_ms,
  CASE WHEN status = 'READY' THEN greatest(0, extract(epoch FROM visible_at - clock_timestamp())::double precision * 1000) ELSE 0 END AS delay_ms
FROM {schema}.outbox_evt WHERE batch_id = $1::bigint
