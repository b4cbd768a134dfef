-- The first tasks of versions of DAGs, in the order of the DAG.
-- Parameters: $1 versions, $2 the most tasks of each.
-- Returns: tasks.
-- Cost: a walk over the tasks of the versions.
SELECT * FROM {schema}.task_def WHERE version = ANY ($1::integer[]) AND position <= $2::integer ORDER BY version, position
