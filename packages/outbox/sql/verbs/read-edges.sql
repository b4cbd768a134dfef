-- Who depends on whom in a batch, tasks that were added included.
-- Parameters: $1 batch, $2 version of its DAG.
-- Returns: from_key and to_key.
-- Cost: a row per edge.
SELECT from_key, to_key FROM {schema}.task_dep WHERE version = $2::integer
UNION ALL
SELECT from_key, to_key FROM {schema}.outbox_dep WHERE batch_id = $1::bigint
