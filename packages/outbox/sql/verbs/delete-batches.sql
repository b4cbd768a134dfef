-- Deletes batches with all that belongs to them.
-- Guarantee: under lock-ended: nothing of them runs or can be retried meanwhile. Entries of tasks that were cancelled before they ran are found by the
--   time they were to run at; a claim would drop them, but perhaps nobody polls their DAG any more.
-- Parameters: $1 ids.
-- Returns: how many batches and tasks.
-- Cost: a deletion per row, all by indexes. 100,000 tasks of one aborted batch, entries included, on two busy
--   cores: 1.6 s.
WITH tasks AS MATERIALIZED (
  SELECT id, dag, status, pre_cnt, visible_at FROM {schema}.outbox_evt WHERE batch_id = ANY ($1::bigint[])
), entries AS (
  DELETE FROM {schema}.outbox_ready r USING tasks t
  WHERE t.status = 'CANCELLED' AND t.pre_cnt = 0 AND r.dag = t.dag AND r.visible_at = t.visible_at AND r.id = t.id
), letters AS (
  DELETE FROM {schema}.outbox_dead_letter l USING tasks t WHERE t.status = 'FAILED' AND l.id = t.id
), ticks AS (
  DELETE FROM {schema}.outbox_tick WHERE batch_id = ANY ($1::bigint[])
), batches AS (
  DELETE FROM {schema}.batch_instance WHERE id = ANY ($1::bigint[]) RETURNING id
)
SELECT (SELECT count(*) FROM batches)::integer AS batches, (SELECT count(*) FROM tasks)::integer AS tasks
