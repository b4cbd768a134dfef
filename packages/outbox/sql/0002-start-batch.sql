-- Starts a batch with all its tasks, unless its business key has one already.
-- Guarantee: the batch and every task, or nothing; of many that start the same key at once, one makes the batch.
-- Parameters: given_version null for the one registered last; rerun: a run that has ended is followed by another one; channel: told
--   with the commit, or null.
-- Returns: the batch, or no row: there is one already, or no such DAG.
-- Cost: two lookups, one insert per task and one more per root.
CREATE FUNCTION outbox_start_batch(
  given_tenant text, given_dag text, given_version integer, given_key text, given_payload jsonb, given_traceparent text, rerun boolean,
  given_schedule text, channel text
)
  RETURNS SETOF batch_instance
  LANGUAGE plpgsql
  SET search_path FROM CURRENT
AS $$
DECLARE
  latest record;
  made batch_instance;
BEGIN
  SELECT b.run_no, b.status INTO latest FROM batch_instance b
  WHERE b.tenant = given_tenant AND b.dag = given_dag AND b.biz_key = given_key
  ORDER BY b.run_no DESC LIMIT 1;
  IF FOUND AND NOT (rerun AND latest.status <> 'RUNNING') THEN
    RETURN;
  END IF;
  INSERT INTO batch_instance
    (tenant, dag, dag_version, biz_key, run_no, payload, task_cnt, open_cnt, traceparent, schedule)
  SELECT given_tenant, v.name, v.version, given_key, coalesce(latest.run_no, 0) + 1, given_payload, v.task_cnt, v.task_cnt,
    given_traceparent, given_schedule
  FROM dag v
  WHERE v.name = given_dag
    AND v.version = coalesce(given_version, (
      SELECT l.version FROM dag l WHERE l.name = given_dag ORDER BY l.registered_at DESC, l.version DESC LIMIT 1
    ))
  ON CONFLICT (tenant, dag, biz_key, run_no) DO NOTHING
  RETURNING * INTO made;
  IF made.id IS NULL THEN
    RETURN;
  END IF;
  WITH tasks AS (
    INSERT INTO outbox_evt
      (batch_id, dag, dag_version, task_key, handler, mode, on_failure, max_attempts, timeout_ms, parent_cnt, pre_cnt, open_cnt)
    SELECT made.id, made.dag, made.dag_version, d.task_key, d.handler, d.mode, d.on_failure, d.max_attempts, d.timeout_ms,
      d.parent_cnt, d.need_cnt, d.parent_cnt
    FROM task_def d WHERE d.version = made.dag_version
    ORDER BY d.position
    RETURNING outbox_evt.id, outbox_evt.pre_cnt, outbox_evt.visible_at
  )
  INSERT INTO outbox_ready (id, dag, version, visible_at)
  SELECT t.id, made.dag, made.dag_version, t.visible_at FROM tasks t WHERE t.pre_cnt = 0;
  IF channel IS NOT NULL THEN
    PERFORM pg_notify(channel, made.dag);
  END IF;
  RETURN NEXT made;
END
$$;
