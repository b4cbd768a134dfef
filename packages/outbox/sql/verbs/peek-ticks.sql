-- Whether there is anything to fold.
-- Parameters: $1 batches to leave alone.
-- Returns: one row: any.
-- Cost: a look at the ticks.
SELECT EXISTS (SELECT FROM {schema}.outbox_tick WHERE task_key IS NOT NULL OR batch_id <> ALL ($1::bigint[])) AS any
