-- Locks all tasks of a batch, so that nothing of it ends meanwhile, and reads what a retry is decided by.
-- Parameters: $1 batch.
-- Returns: the tasks in the order of their ids.
-- Cost: a lock per task.
SELECT id, task_key, status, skipped_by, on_failure, pre_cnt, open_cnt FROM {schema}.outbox_evt WHERE batch_id = $1::bigint ORDER BY id FOR UPDATE
