-- The joins of a DAG that are not `all`.
-- Parameters: $1 version.
-- Returns: task_key, join and need_cnt.
-- Cost: a walk over the tasks of the version.
SELECT task_key, "join", need_cnt FROM {schema}.task_def WHERE version = $1::integer AND "join" <> 'all'
