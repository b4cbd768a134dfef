-- The applied versions that are stored, the newest first, and what an instance can run of those that it has not seen yet.
-- Parameters: $1 versions of the instance's own DAGs, which have its handlers, $2 versions that it has seen, $3 the most rows.
-- Returns: version, name, taskCount; of one not seen yet: whether the instance has some of its handlers, and one that it has not.
-- Cost: a row per version; a lookup per task of those not seen yet.
SELECT d.version, d.name, d.task_cnt AS "taskCount",
  CASE WHEN d.version <> ALL ($2::integer[]) THEN EXISTS (
    SELECT FROM {schema}.task_def t JOIN {schema}.task_def o ON o.handler = t.handler AND o.version = ANY ($1::integer[])
    WHERE t.version = d.version
  ) END AS "hasSome",
  CASE WHEN d.version <> ALL ($2::integer[]) THEN (
    SELECT t.handler FROM {schema}.task_def t
    WHERE t.version = d.version
      AND NOT EXISTS (SELECT FROM {schema}.task_def o WHERE o.handler = t.handler AND o.version = ANY ($1::integer[]))
    LIMIT 1
  ) END AS missing
FROM {schema}.dag d WHERE d.applied
ORDER BY d.version DESC LIMIT $3::integer
