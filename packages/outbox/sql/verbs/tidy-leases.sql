-- Forgets notes of claims whose tasks have all ended, and looks at the others again when their leases end.
-- Parameters: $1 the most notes.
-- Returns: how many were due.
-- Not before a second has passed: others may be giving them back right now.
-- Cost: a walk along the notes that are due, a lookup per task of theirs.
WITH due AS (
  SELECT l.id, (
    SELECT min(e.lease_until) FROM {schema}.outbox_evt e WHERE e.id = ANY (l.evt_ids) AND e.status = 'PROCESSING'
  ) AS next
  FROM {schema}.outbox_lease l
  WHERE l.look_at <= (SELECT clock_timestamp())
  ORDER BY l.look_at LIMIT $1::integer
  FOR UPDATE OF l SKIP LOCKED
), gone AS (
  DELETE FROM {schema}.outbox_lease WHERE id IN (SELECT id FROM due WHERE next IS NULL)
), later AS (
  UPDATE {schema}.outbox_lease l SET look_at = greatest(d.next, clock_timestamp() + interval '1 second') FROM due d WHERE l.id = d.id AND d.next IS NOT NULL
)
SELECT count(*)::integer AS due FROM due
