-- Adds tasks to a batch that runs, which follow the one that adds them.
-- Guarantee: in the transaction that then ends the adding task, so that both happen or neither. Successors that have to wait for the new tasks
--   are locked, in the order of their ids, before anything can make them runnable. Under the lock of the batch; in a batch that is
--   failing nothing starts any more: they are added as CANCELLED.
-- Parameters: the batch, the adding task, the most tasks a batch may have; arrays of one length: key, dag and name of the handler, mode, policy,
--   tries, timeout, payload; arrays of another length: edges from new tasks to successors that wait for them.
-- Returns: nothing. Refuses with MR001 (too many), MR002 (a key the batch has already), MR003 (not a task that still waits); the detail names it.
-- Cost: an insert per task, one more for its entry and its edge each, an update per successor.
CREATE FUNCTION outbox_add_tasks(
  given_batch bigint, adder text, tasks_max integer, keys text[], dags text[], handlers text[], modes text[], policies text[],
  tries integer[], timeouts integer[], payloads jsonb[], edges_from text[], edges_to text[], wide_above integer
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
  batch batch_instance;
  new_cnt integer := cardinality(keys);
  found_cnt integer;
  problem text;
BEGIN
  SELECT * INTO batch FROM batch_instance b WHERE b.id = given_batch FOR NO KEY UPDATE;
  IF batch.task_cnt + new_cnt > tasks_max THEN
    RAISE EXCEPTION USING ERRCODE = 'MR001', MESSAGE = 'too many tasks', DETAIL = (batch.task_cnt + new_cnt)::text;
  END IF;
  SELECT e.task_key INTO problem FROM unnest(keys) AS k (key)
  JOIN outbox_evt e ON e.batch_id = given_batch AND e.task_key = k.key LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'MR002', MESSAGE = 'the batch has this task already', DETAIL = problem;
  END IF;
  IF NOT batch.failing THEN
    PERFORM e.id FROM (SELECT DISTINCT t.key FROM unnest(edges_to) AS t (key)) w
    JOIN outbox_evt e ON e.batch_id = given_batch AND e.task_key = w.key ORDER BY e.id FOR UPDATE OF e;
    SELECT w.key INTO problem FROM (SELECT DISTINCT t.key FROM unnest(edges_to) AS t (key)) w
    WHERE NOT EXISTS (
      SELECT FROM outbox_evt e
      WHERE e.batch_id = given_batch AND e.task_key = w.key AND e.status = 'READY' AND e.pre_cnt > 0
    ) LIMIT 1;
    IF FOUND THEN
      RAISE EXCEPTION USING ERRCODE = 'MR003', MESSAGE = 'not a task that still waits', DETAIL = problem;
    END IF;
  END IF;
  WITH added AS (
    INSERT INTO outbox_evt
      (batch_id, dag, dag_version, task_key, handler, mode, on_failure, max_attempts, timeout_ms, payload, added_by, parent_cnt, pre_cnt,
       open_cnt, status, ended_at)
    SELECT given_batch, n.dag, batch.dag_version, n.key, n.handler, n.mode, n.policy, n.tries, n.timeout_ms, n.payload, adder, 1, 0, 0,
      CASE WHEN batch.failing THEN 'CANCELLED' ELSE 'READY' END::outbox_status, CASE WHEN batch.failing THEN clock_timestamp() END
    FROM unnest(keys, dags, handlers, modes, policies, tries, timeouts, payloads)
      AS n (key, dag, handler, mode, policy, tries, timeout_ms, payload)
    RETURNING outbox_evt.id, outbox_evt.dag, outbox_evt.visible_at
  )
  INSERT INTO outbox_ready (id, dag, version, visible_at)
  SELECT a.id, a.dag, NULL, a.visible_at FROM added a WHERE NOT batch.failing;
  INSERT INTO outbox_dep (batch_id, from_key, to_key, wide, any_end, counted)
  SELECT given_batch, adder, k.key, false, false, true FROM unnest(keys) AS k (key);
  WITH joins AS (
    SELECT w.key, w.cnt, e.id, coalesce(d."join", 'all') AS kind, e.parent_cnt + w.cnt > wide_above AS wide
    FROM (SELECT t.key, count(*)::integer AS cnt FROM unnest(edges_to) AS t (key) GROUP BY t.key) w
    JOIN outbox_evt e ON e.batch_id = given_batch AND e.task_key = w.key
    LEFT JOIN task_def d ON d.version = e.dag_version AND d.task_key = e.task_key AND e.added_by IS NULL
  ), edges AS (
    INSERT INTO outbox_dep (batch_id, from_key, to_key, wide, any_end, counted)
    SELECT given_batch, x.from_key, x.to_key, j.wide, j.kind = 'all-done', false
    FROM unnest(edges_from, edges_to) AS x (from_key, to_key) JOIN joins j ON j.key = x.to_key
  )
  UPDATE outbox_evt e
  SET parent_cnt = e.parent_cnt + j.cnt, open_cnt = e.open_cnt + j.cnt,
    pre_cnt = e.pre_cnt + CASE WHEN j.kind IN ('all', 'all-done') THEN j.cnt ELSE 0 END, updated_at = now()
  FROM joins j WHERE e.id = j.id;
  UPDATE batch_instance b
  SET task_cnt = b.task_cnt + new_cnt, open_cnt = b.open_cnt + CASE WHEN batch.failing THEN 0 ELSE new_cnt END, updated_at = now()
  WHERE b.id = given_batch;
END
$$;
