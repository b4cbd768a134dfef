-- Gives claimed tasks back: to be tried again after a delay, or at once.
-- Guarantee: only where the claim still holds. In a batch that is failing nothing starts any more: the task is CANCELLED instead.
-- Parameters, arrays of one length: $1 id, $2 claim_id, $3 batch_id, $4 delay in ms, $5 attempts returned (0 or 1), $6 losses counted
--   (0 or 1), $7 error or null; and $8: only where the lease has expired.
-- Returns: id and status of those that were given back.
-- Cost: a lookup per task and per batch. The batches are locked (shared) so that a failure cannot slip in between.
WITH given AS (
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::double precision[], $5::integer[], $6::integer[], $7::jsonb[])
    AS g (id, claim_id, batch_id, delay_ms, attempts, losses, error)
), batches AS (
  SELECT b.id, b.failing FROM {schema}.batch_instance b
  WHERE b.id IN (SELECT batch_id FROM given) ORDER BY b.id FOR SHARE
), held AS (
  SELECT e.id, b.failing, g.delay_ms, g.attempts, g.losses, g.error
  FROM given g
  JOIN batches b ON b.id = g.batch_id
  JOIN {schema}.outbox_evt e ON e.id = g.id
  WHERE e.status = 'PROCESSING' AND e.claim_id = g.claim_id AND (NOT $8::boolean OR e.lease_until <= clock_timestamp())
  ORDER BY e.id
  FOR UPDATE OF e
), returned AS (
  UPDATE {schema}.outbox_evt e
  SET status = CASE WHEN h.failing THEN 'CANCELLED' ELSE 'READY' END::{schema}.outbox_status,
    claim_id = NULL, worker_id = NULL, lease_until = NULL, attempts = e.attempts - h.attempts, lost_cnt = e.lost_cnt + h.losses,
    error = coalesce(
      h.error || jsonb_build_object('at', to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')), e.error
    ),
    visible_at = clock_timestamp() + h.delay_ms * interval '1 ms',
    ended_at = CASE WHEN h.failing THEN clock_timestamp() END, updated_at = now()
  FROM held h
  WHERE e.id = h.id AND e.status = 'PROCESSING'
  RETURNING e.id, e.batch_id, e.status, e.dag, e.dag_version, e.added_by, e.visible_at
), opened AS (
  INSERT INTO {schema}.outbox_ready (id, dag, version, visible_at)
  SELECT id, dag, CASE WHEN added_by IS NULL THEN dag_version END, visible_at FROM returned WHERE status = 'READY'
), ticked AS (
  INSERT INTO {schema}.outbox_tick (batch_id, task_key, ok_cnt, end_cnt)
  SELECT batch_id, NULL, 0, count(*) FROM returned WHERE status = 'CANCELLED' GROUP BY batch_id
)
SELECT id, status FROM returned
