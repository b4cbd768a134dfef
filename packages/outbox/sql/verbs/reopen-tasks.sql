-- Makes tasks of a batch READY again (or SKIPPED, where they can still not start), and corrects counts of tasks that wait; all computed under
-- lock-tasks.
-- Parameters: arrays of one length: $1 ids, $2 pre_cnt, $3 open_cnt, $4 status, $5 whether it starts anew, $6 whether it can run now and could not
--   before.
-- Returns: nothing.
-- Cost: an update per task.
WITH reopened AS (
  UPDATE {schema}.outbox_evt e
  SET status = g.status::{schema}.outbox_status, pre_cnt = g.pre_cnt, open_cnt = g.open_cnt,
    claim_id = NULL, worker_id = NULL, lease_until = NULL, result = NULL,
    attempts = CASE WHEN g.again THEN 0 ELSE e.attempts END, lost_cnt = CASE WHEN g.again THEN 0 ELSE e.lost_cnt END,
    error = CASE WHEN g.again THEN NULL ELSE e.error END,
    skipped_by = CASE WHEN g.status = 'SKIPPED' THEN 'cascade' END,
    visible_at = CASE WHEN g.again OR g.opened THEN clock_timestamp() ELSE e.visible_at END,
    started_at = CASE WHEN g.again THEN NULL ELSE e.started_at END,
    ended_at = CASE WHEN g.status = 'SKIPPED' THEN clock_timestamp() END, updated_at = now()
  FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::text[], $5::boolean[], $6::boolean[])
    AS g (id, pre_cnt, open_cnt, status, again, opened)
  WHERE e.id = g.id
  RETURNING e.id, e.dag, e.dag_version, e.added_by, e.visible_at, g.opened
), alive AS (
  DELETE FROM {schema}.outbox_dead_letter WHERE id = ANY ($1::bigint[])
)
INSERT INTO {schema}.outbox_ready (id, dag, version, visible_at)
SELECT id, dag, CASE WHEN added_by IS NULL THEN dag_version END, visible_at FROM reopened WHERE opened
