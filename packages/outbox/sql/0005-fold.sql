-- Counts ends of tasks into their batches, and ends the batches that have no open task left.
-- Guarantee: ticks of a batch are counted and deleted under the lock of the batch, once each; the batch ends with the last one. A batch
--   that somebody else has locked is passed over. The lock comes before the statement that reads the ticks, so that what was written until
--   then is seen.
-- Parameters: most: ticks to look at; except_ids: batches to leave alone, because a listener of theirs fails.
-- Returns: batches that were counted, whether they ended by it, and by how many ticks; a row without id for every batch passed over.
-- Cost: a walk over ticks, a deletion per tick, an update per batch.
CREATE FUNCTION outbox_fold_batches(most integer, except_ids bigint[])
  RETURNS TABLE (id bigint, has_ended boolean, ticks integer)
  LANGUAGE plpgsql
  SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
  ticked bigint[];
  held bigint[];
BEGIN
  SELECT array_agg(DISTINCT t.batch_id) INTO ticked
  FROM (SELECT batch_id FROM outbox_tick WHERE task_key IS NULL AND batch_id <> ALL (except_ids) LIMIT most) t
  WHERE EXISTS (SELECT FROM batch_instance b WHERE b.id = t.batch_id);
  IF ticked IS NULL THEN
    RETURN;
  END IF;
  SELECT array_agg(h.id) INTO held FROM (
    SELECT b.id FROM batch_instance b WHERE b.id = ANY (ticked) ORDER BY b.id FOR NO KEY UPDATE SKIP LOCKED
  ) h;
  RETURN QUERY
  WITH gone AS (
    DELETE FROM outbox_tick t WHERE t.batch_id = ANY (held) AND t.task_key IS NULL RETURNING t.batch_id, t.end_cnt
  ), sums AS (
    SELECT g.batch_id, sum(g.end_cnt)::integer AS end_cnt, count(*)::integer AS ticks FROM gone g GROUP BY g.batch_id
  ), counted AS (
    UPDATE batch_instance b
    SET open_cnt = b.open_cnt - s.end_cnt, updated_at = now(),
      status = CASE
        WHEN b.status <> 'RUNNING' OR b.open_cnt > s.end_cnt THEN b.status WHEN b.failing THEN 'FAILED' ELSE 'DONE'
      END::batch_status,
      ended_at = CASE WHEN b.status <> 'RUNNING' OR b.open_cnt > s.end_cnt THEN b.ended_at ELSE clock_timestamp() END
    FROM sums s JOIN batch_instance o ON o.id = s.batch_id
    WHERE b.id = s.batch_id
    RETURNING b.id, o.status = 'RUNNING' AND b.status <> 'RUNNING' AS has_ended, s.ticks
  )
  SELECT c.id, c.has_ended, c.ticks FROM counted c
  UNION ALL
  SELECT NULL, false, 0 FROM unnest(ticked) AS t (id) WHERE t.id <> ALL (coalesce(held, '{}'));
END
$$;

-- Counts ends of parents into joins that are too wide for their parents to do it.
-- Guarantee: as above, under the lock of the join.
-- Parameters: most: ticks to look at.
-- Returns: rows of what and id: `ready` and `skip` as outbox_end_tasks does, `counted` for all others, `locked` for those passed over.
-- Cost: a walk over ticks, a deletion per tick, an update per join.
CREATE FUNCTION outbox_fold_joins(most integer)
  RETURNS TABLE (what text, id bigint)
  LANGUAGE plpgsql
  SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
  ticked bigint[];
  held bigint[];
BEGIN
  SELECT array_agg(e.id) INTO ticked
  FROM (
    SELECT DISTINCT l.batch_id, l.task_key
    FROM (SELECT batch_id, task_key FROM outbox_tick WHERE task_key IS NOT NULL LIMIT most) l
  ) t
  JOIN outbox_evt e ON e.batch_id = t.batch_id AND e.task_key = t.task_key;
  IF ticked IS NULL THEN
    RETURN;
  END IF;
  SELECT array_agg(h.id) INTO held FROM (
    SELECT e.id FROM outbox_evt e WHERE e.id = ANY (ticked) ORDER BY e.id FOR UPDATE SKIP LOCKED
  ) h;
  RETURN QUERY
  WITH gone AS (
    DELETE FROM outbox_tick t USING outbox_evt e
    WHERE e.id = ANY (held) AND t.batch_id = e.batch_id AND t.task_key = e.task_key
    RETURNING e.id, t.ok_cnt, t.end_cnt
  ), sums AS (
    SELECT g.id, sum(g.ok_cnt)::integer AS ok_cnt, sum(g.end_cnt)::integer AS end_cnt FROM gone g GROUP BY g.id
  ), moved AS (
    UPDATE outbox_evt e
    SET pre_cnt = greatest(0, e.pre_cnt - s.ok_cnt), open_cnt = e.open_cnt - s.end_cnt,
      visible_at = CASE WHEN e.pre_cnt BETWEEN 1 AND s.ok_cnt THEN clock_timestamp() ELSE e.visible_at END, updated_at = now()
    FROM sums s JOIN outbox_evt o ON o.id = s.id
    WHERE e.id = s.id AND e.status = 'READY'
    RETURNING e.id, e.pre_cnt, e.open_cnt, o.pre_cnt AS was, e.dag, e.dag_version, e.added_by, e.visible_at
  ), opened AS (
    INSERT INTO outbox_ready (id, dag, version, visible_at)
    SELECT m.id, m.dag, CASE WHEN m.added_by IS NULL THEN m.dag_version END, m.visible_at FROM moved m WHERE m.pre_cnt = 0 AND m.was > 0
  )
  SELECT CASE WHEN m.open_cnt < m.pre_cnt THEN 'skip' WHEN m.pre_cnt = 0 AND m.was > 0 THEN 'ready' ELSE 'counted' END, m.id
  FROM moved m
  UNION ALL
  SELECT 'counted', h.id FROM unnest(held) AS h (id) WHERE NOT EXISTS (SELECT FROM moved m WHERE m.id = h.id)
  UNION ALL
  SELECT 'locked', t.id FROM unnest(ticked) AS t (id) WHERE t.id <> ALL (coalesce(held, '{}'));
END
$$;
