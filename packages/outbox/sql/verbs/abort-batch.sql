-- Ends a batch by hand: what waits or runs is cancelled, and whoever runs it has lost its claim.
-- Guarantee: under lock-batch; completions that are under way are waited for, later ones find no claim.
-- Parameters: $1 id.
-- Returns: how many tasks were cancelled.
-- Cost: a walk over the tasks of the batch; they are locked in the order of their ids.
WITH held AS (
  SELECT id FROM {schema}.outbox_evt WHERE batch_id = $1::bigint AND status IN ('READY', 'PROCESSING') ORDER BY id FOR UPDATE
), cancelled AS (
  UPDATE {schema}.outbox_evt e
  SET status = 'CANCELLED', claim_id = NULL, lease_until = NULL, ended_at = clock_timestamp(), updated_at = now()
  FROM held h WHERE e.id = h.id AND e.status IN ('READY', 'PROCESSING')
  RETURNING e.id
)
SELECT count(*)::integer AS cancelled FROM cancelled
