-- Takes tasks that can run now and whose handler the caller has.
-- Guarantee: a task is claimed by one worker at a time, under a claim_id that no other claim ever had; entries that somebody else is
--   taking right now are passed over, never waited for.
-- Parameters: mine: the caller's DAGs; since: for each from when on, in seconds of the epoch, null from the first; versions: what they are stored as;
--   most: tasks; worker; lease_ms.
-- Returns: one row per task, with what its handler is given.
-- Cost: per DAG one walk along the index of what can run, at most `most` rows; a lookup per task and per predecessor. While somebody holds an old
--   snapshot, the walk begins with all entries deleted since, which cannot be removed: 70 ms for 430,000 of them. `since` passes over them: 2 ms.
-- Handlers: a task of one of the caller's own versions has its handler there, so these are looked at first; for a task of another version, or an
--   added one, task_def says whether one of the caller's versions has it. A list of handlers as a parameter would be 100,000 names long for a DAG of that size.
-- The clock is a scalar subquery because a volatile function cannot bound an index scan: tasks that wait for their
--   back-off would all be walked over.
CREATE FUNCTION outbox_claim_ready(
  mine text[], since double precision[], versions integer[], most integer, worker text, lease_ms double precision
)
  RETURNS TABLE (
    id bigint, claim_id bigint, batch_id bigint, task_key text, handler text, mode text, on_failure text, attempts integer,
    max_attempts integer, timeout_ms integer, lost_cnt integer, tenant text, dag text, biz_key text, run_no integer, traceparent text,
    payload jsonb, inputs jsonb
  )
  LANGUAGE plpgsql
  SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
  popped bigint[];
  popped_at timestamptz[];
  taken integer;
  total integer := 0;
BEGIN
  -- Again where most entries were left of tasks that can no longer run: an aborted batch may have left thousands.
  FOR round IN 1 .. 50 LOOP
    WITH gone AS (
      DELETE FROM outbox_ready WHERE ctid = ANY (ARRAY(
        SELECT f.place FROM unnest(mine, since) AS m (dag, since)
        CROSS JOIN LATERAL (
          SELECT q.ctid AS place FROM outbox_ready q
          WHERE q.dag = m.dag AND q.visible_at >= to_timestamp(coalesce(m.since, '-infinity'))
            AND q.visible_at <= (SELECT clock_timestamp()) AND q.version = ANY (versions)
          ORDER BY q.visible_at
          LIMIT most - total
          FOR UPDATE SKIP LOCKED
        ) f
        LIMIT most - total
      ))
      RETURNING id, visible_at
    )
    SELECT array_agg(g.id ORDER BY g.id), array_agg(g.visible_at ORDER BY g.id) INTO popped, popped_at FROM gone g;
    IF coalesce(cardinality(popped), 0) < most - total THEN
      WITH gone AS (
        DELETE FROM outbox_ready WHERE ctid = ANY (ARRAY(
          SELECT f.place FROM unnest(mine, since) AS m (dag, since)
          CROSS JOIN LATERAL (
            SELECT q.ctid AS place FROM outbox_ready q
            WHERE q.dag = m.dag AND q.visible_at >= to_timestamp(coalesce(m.since, '-infinity'))
            AND q.visible_at <= (SELECT clock_timestamp())
              AND (q.version IS NULL OR q.version <> ALL (versions))
              AND EXISTS (
                SELECT FROM outbox_evt t JOIN task_def d ON d.handler = t.handler AND d.version = ANY (versions) WHERE t.id = q.id
              )
            ORDER BY q.visible_at
            LIMIT most - total - coalesce(cardinality(popped), 0)
            FOR UPDATE SKIP LOCKED
          ) f
          LIMIT most - total - coalesce(cardinality(popped), 0)
        ))
        RETURNING id, visible_at
      )
      SELECT coalesce(popped, '{}') || coalesce(array_agg(g.id ORDER BY g.id), '{}'),
        coalesce(popped_at, '{}') || coalesce(array_agg(g.visible_at ORDER BY g.id), '{}')
      INTO popped, popped_at FROM gone g;
    END IF;
    EXIT WHEN cardinality(popped) = 0;
    RETURN QUERY
    WITH claimed AS (
      UPDATE outbox_evt e
      SET status = 'PROCESSING', worker_id = worker, claim_id = nextval('outbox_claim_seq'), attempts = e.attempts + 1,
        lease_until = clock_timestamp() + lease_ms * interval '1 ms', started_at = clock_timestamp(), updated_at = now()
      FROM unnest(popped, popped_at) AS p (id, visible_at)
      -- An entry left of an earlier time is not the one the task has now.
      WHERE e.id = p.id AND e.status = 'READY' AND e.pre_cnt = 0 AND e.visible_at = p.visible_at
      RETURNING e.id, e.claim_id, e.batch_id, e.dag_version, e.task_key, e.handler, e.mode, e.on_failure, e.attempts, e.max_attempts,
        e.timeout_ms, e.lost_cnt, e.parent_cnt, e.payload
    ), noted AS (
      INSERT INTO outbox_lease (worker_id, evt_ids, look_at)
      SELECT worker, array_agg(c.id), clock_timestamp() + lease_ms * interval '1 ms' FROM claimed c HAVING count(*) > 0
    )
    SELECT c.id, c.claim_id, c.batch_id, c.task_key, c.handler, c.mode, c.on_failure, c.attempts, c.max_attempts, c.timeout_ms,
      c.lost_cnt, b.tenant, b.dag, b.biz_key, b.run_no, b.traceparent,
      CASE WHEN c.payload = 'null' THEN b.payload ELSE c.payload END,
      CASE WHEN c.parent_cnt > 0 THEN (
        SELECT jsonb_object_agg(
          p.task_key,
          CASE WHEN p.status = 'DONE' THEN coalesce(p.result, 'null') ELSE jsonb_build_object('error', p.error) END
        )
        FROM (
          SELECT d.from_key FROM task_dep d WHERE d.version = c.dag_version AND d.to_key = c.task_key
          UNION ALL
          SELECT o.from_key FROM outbox_dep o WHERE o.batch_id = c.batch_id AND o.to_key = c.task_key
        ) f
        JOIN outbox_evt p ON p.batch_id = c.batch_id AND p.task_key = f.from_key
        WHERE p.status = 'DONE' OR (p.status = 'FAILED' AND p.on_failure = 'continue')
      ) END
    FROM claimed c JOIN batch_instance b ON b.id = c.batch_id;
    GET DIAGNOSTICS taken = ROW_COUNT;
    EXIT WHEN cardinality(popped) < most - total OR (total + taken) * 2 >= most;
    total := total + taken;
  END LOOP;
END
$$;
