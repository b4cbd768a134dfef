-- Whether a task may be ended: under a claim that holds, or without one where it waits and can no longer start.
CREATE FUNCTION outbox_may_end(task outbox_evt, given_claim bigint) RETURNS boolean
  LANGUAGE sql IMMUTABLE
RETURN (task.status = 'PROCESSING' AND task.claim_id = given_claim)
  OR (given_claim IS NULL AND task.status = 'READY' AND task.open_cnt < task.pre_cnt);

-- A failure with the time of the server.
CREATE FUNCTION outbox_stamped(error jsonb) RETURNS jsonb
  LANGUAGE sql VOLATILE
RETURN error || jsonb_build_object('at', to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'));

-- Why a task is SKIPPED: a worker that has it found its condition false; without a worker it is because of others.
CREATE FUNCTION outbox_skipped_by(status text, given_claim bigint) RETURNS text
  LANGUAGE sql IMMUTABLE
RETURN CASE WHEN status = 'SKIPPED' THEN CASE WHEN given_claim IS NULL THEN 'cascade' ELSE 'condition' END END;

-- Ends tasks, and tells what depends on them.
-- Guarantee: only where the claim still holds (or, without a claim, where a waiting task can no longer start); the counts of a successor
--   change once per parent, in this call, or by a tick written in it when it has too many parents.
-- Parameters, arrays of one length: id; claim_id or null (SKIPPED by cascade); status; result; error; pass: what successors see,
--   1 a success, 0 an end, null nothing (the batch fails: they are cancelled). And must: a claim that does not hold is an error (MR009), so that
--   COMMIT can be sent behind it without waiting for the answer.
-- Returns: rows of what and id: `ended` the tasks that ended now, `ready` successors that can run, `skip` successors that
--   can no longer: to be ended next, in the same transaction.
-- Cost: a lookup per task and per successor. Successors are locked in the order of their ids. In steps, because starting one statement of eight
--   parts took PostgreSQL 260 µs, whatever there was to do, and most tasks have no successor.
CREATE FUNCTION outbox_end_tasks(
  ids bigint[], claim_ids bigint[], statuses text[], results jsonb[], errors jsonb[], passes integer[], must boolean
)
  RETURNS TABLE (what text, id bigint)
  LANGUAGE plpgsql
  SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
  ended_ids bigint[];
  batch_ids bigint[];
  versions integer[];
  keys text[];
  seen integer[];
  has_failed boolean;
BEGIN
  -- One is the end of every transactional task: without arrays to join it takes half of the time.
  IF cardinality(ids) = 1 THEN
    UPDATE outbox_evt e
    SET status = statuses[1]::outbox_status, result = results[1], error = outbox_stamped(errors[1]), lease_until = NULL,
      skipped_by = outbox_skipped_by(statuses[1], claim_ids[1]), ended_at = clock_timestamp(), updated_at = now()
    WHERE e.id = ids[1] AND outbox_may_end(e, claim_ids[1])
    RETURNING ARRAY[e.id], ARRAY[e.batch_id], ARRAY[e.dag_version], ARRAY[e.task_key], passes, e.status = 'FAILED'
    INTO ended_ids, batch_ids, versions, keys, seen, has_failed;
  ELSE
    WITH ended AS (
      UPDATE outbox_evt e
      SET status = g.status::outbox_status, result = g.result, error = outbox_stamped(g.error), lease_until = NULL,
        skipped_by = outbox_skipped_by(g.status, g.claim_id), ended_at = clock_timestamp(), updated_at = now()
      FROM unnest(ids, claim_ids, statuses, results, errors, passes) AS g (id, claim_id, status, result, error, pass)
      WHERE e.id = g.id AND outbox_may_end(e, g.claim_id)
      RETURNING e.id, e.batch_id, e.dag_version, e.task_key, e.status, g.pass
    )
    SELECT array_agg(n.id), array_agg(n.batch_id), array_agg(n.dag_version), array_agg(n.task_key), array_agg(n.pass),
      bool_or(n.status = 'FAILED')
    INTO ended_ids, batch_ids, versions, keys, seen, has_failed
    FROM ended n;
  END IF;
  IF must AND coalesce(cardinality(ended_ids), 0) < cardinality(ids) THEN
    RAISE EXCEPTION USING ERRCODE = 'MR009', MESSAGE = 'the task is no longer claimed by this worker';
  END IF;
  IF ended_ids IS NULL THEN
    RETURN;
  END IF;

  IF cardinality(batch_ids) = 1 THEN
    INSERT INTO outbox_tick (batch_id, task_key, ok_cnt, end_cnt) VALUES (batch_ids[1], NULL, 0, 1);
  ELSE
    INSERT INTO outbox_tick (batch_id, task_key, ok_cnt, end_cnt)
    SELECT n.batch_id, NULL, 0, count(*) FROM unnest(batch_ids) AS n (batch_id) GROUP BY n.batch_id;
  END IF;

  IF has_failed THEN
    INSERT INTO outbox_dead_letter (id, handler)
    SELECT e.id, e.handler FROM outbox_evt e WHERE e.id = ANY (ended_ids) AND e.status = 'FAILED'
    ON CONFLICT DO NOTHING;
  END IF;

  IF EXISTS (
    SELECT FROM unnest(batch_ids, versions, keys) AS n (batch_id, version, key)
    WHERE EXISTS (SELECT FROM task_dep s WHERE s.version = n.version AND s.from_key = n.key)
      OR EXISTS (SELECT FROM outbox_dep a WHERE a.batch_id = n.batch_id AND a.from_key = n.key)
  ) THEN
    RETURN QUERY
    WITH edges AS (
      SELECT n.batch_id, d.to_key, d.wide, sum(CASE WHEN d.any_end THEN 1 ELSE n.pass END)::integer AS ok_cnt,
        count(*)::integer AS end_cnt
      FROM unnest(batch_ids, versions, keys, seen) AS n (batch_id, version, key, pass)
      CROSS JOIN LATERAL (
        SELECT s.to_key, s.wide, s.any_end FROM task_dep s WHERE s.version = n.version AND s.from_key = n.key
        UNION ALL
        SELECT a.to_key, a.wide, a.any_end FROM outbox_dep a
        WHERE a.batch_id = n.batch_id AND a.from_key = n.key AND NOT a.counted
      ) d
      WHERE n.pass IS NOT NULL
      GROUP BY n.batch_id, d.to_key, d.wide
    ), targets AS (
      SELECT e.id, e.pre_cnt AS was, d.ok_cnt, d.end_cnt
      FROM edges d JOIN outbox_evt e ON e.batch_id = d.batch_id AND e.task_key = d.to_key
      -- Not one that runs already while parents still end: it needs no counts any more, and its own end may be waiting for this one.
      WHERE NOT d.wide AND e.status = 'READY'
      ORDER BY e.id
      FOR UPDATE OF e
    ), moved AS (
      UPDATE outbox_evt e
      SET pre_cnt = greatest(0, e.pre_cnt - t.ok_cnt), open_cnt = e.open_cnt - t.end_cnt,
        visible_at = CASE WHEN e.pre_cnt BETWEEN 1 AND t.ok_cnt THEN clock_timestamp() ELSE e.visible_at END, updated_at = now()
      FROM targets t
      WHERE e.id = t.id AND e.status = 'READY'
      RETURNING e.id, e.pre_cnt, e.open_cnt, t.was, e.dag, e.dag_version, e.added_by, e.visible_at
    ), opened AS (
      INSERT INTO outbox_ready (id, dag, version, visible_at)
      SELECT m.id, m.dag, CASE WHEN m.added_by IS NULL THEN m.dag_version END, m.visible_at
      FROM moved m WHERE m.pre_cnt = 0 AND m.was > 0
    ), ticked AS (
      INSERT INTO outbox_tick (batch_id, task_key, ok_cnt, end_cnt)
      SELECT d.batch_id, d.to_key, d.ok_cnt, d.end_cnt FROM edges d WHERE d.wide
    )
    SELECT CASE WHEN m.pre_cnt = 0 THEN 'ready' ELSE 'skip' END, m.id FROM moved m
    WHERE (m.pre_cnt = 0 AND m.was > 0) OR m.open_cnt < m.pre_cnt;
  END IF;
  RETURN QUERY SELECT 'ended', n.id FROM unnest(ended_ids) AS n (id);
END
$$;
