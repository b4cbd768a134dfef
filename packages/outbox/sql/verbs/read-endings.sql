-- What came of batches: the results of the tasks that nobody waits for, and the task that failed first.
-- Parameters: $1 batches, $2 the most bytes of keys and results of one batch, as texts.
-- Returns: id and status; of a DONE batch the results by key, null when they are too large to be carried; of a FAILED one the failed task and its
--   error. No row for a batch that is not there.
-- Cost: two walks over the tasks of each batch that has ended: results are measured before they are put together, so that a hundred thousand
--   large ones take no memory here or at the caller's.
WITH last AS NOT MATERIALIZED (
  SELECT e.batch_id, e.task_key, e.result
  FROM {schema}.batch_instance b JOIN {schema}.outbox_evt e ON e.batch_id = b.id
  WHERE b.id = ANY ($1::bigint[]) AND b.status = 'DONE' AND e.status = 'DONE'
    AND NOT EXISTS (SELECT FROM {schema}.task_dep d WHERE d.version = b.dag_version AND d.from_key = e.task_key)
    AND NOT EXISTS (SELECT FROM {schema}.outbox_dep d WHERE d.batch_id = b.id AND d.from_key = e.task_key)
)
SELECT b.id, b.status,
  CASE WHEN b.status = 'DONE' AND $2::bigint >= (
    SELECT coalesce(sum(octet_length(l.task_key) + coalesce(octet_length(l.result::text), 4)), 0) FROM last l WHERE l.batch_id = b.id
  ) THEN (
    SELECT coalesce(jsonb_object_agg(l.task_key, coalesce(l.result, 'null')), '{}') FROM last l WHERE l.batch_id = b.id
  ) END AS results,
  failed.task_key, failed.error
FROM {schema}.batch_instance b
LEFT JOIN LATERAL (
  SELECT e.task_key, e.error FROM {schema}.outbox_evt e
  WHERE b.status = 'FAILED' AND e.batch_id = b.id AND e.status = 'FAILED'
  ORDER BY e.ended_at, e.id LIMIT 1
) failed ON true
WHERE b.id = ANY ($1::bigint[])
