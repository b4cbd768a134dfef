-- Locks what the end of a task may change: itself and everything behind it that has not started, in the order of the ids.
-- Level by level, as the ends themselves go, two transactions could take the same rows in different orders and wait for each other.
-- Parameters: $1 id of the task.
-- Returns: nothing of use.
-- Cost: a lookup per edge and per task behind it.
WITH RECURSIVE start AS (
  SELECT batch_id, dag_version, task_key FROM {schema}.outbox_evt WHERE id = $1::bigint
), behind AS (
  SELECT task_key FROM start
  UNION
  SELECT d.to_key FROM behind b CROSS JOIN start s
  CROSS JOIN LATERAL (
    SELECT to_key FROM {schema}.task_dep WHERE version = s.dag_version AND from_key = b.task_key
    UNION ALL
    SELECT to_key FROM {schema}.outbox_dep WHERE batch_id = s.batch_id AND from_key = b.task_key
  ) d
), held AS (
  SELECT e.id FROM {schema}.outbox_evt e JOIN start s ON e.batch_id = s.batch_id
  WHERE e.task_key IN (SELECT task_key FROM behind) AND (e.status = 'READY' OR e.id = $1::bigint)
  ORDER BY e.id FOR UPDATE OF e
)
SELECT count(*)::integer AS held FROM held
