-- The first delay of a retry, as the definition says that the task's batch began with. Asked after a failure and not with every claim: most tasks never
-- need it.
-- Parameters: $1 task.
-- Returns: ms, or no row for a task that was added while the batch ran.
-- Cost: two lookups.
SELECT d.backoff_ms AS ms
FROM {schema}.outbox_evt e JOIN {schema}.task_def d ON d.version = e.dag_version AND d.task_key = e.task_key
WHERE e.id = $1::bigint AND e.added_by IS NULL
