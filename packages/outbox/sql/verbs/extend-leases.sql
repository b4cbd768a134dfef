-- Extends the leases of tasks that are still being worked on.
-- Guarantee: only where the claim still holds; a row that somebody is changing right now is passed over, not waited for.
-- Parameters: $1 ids, $2 claim_ids, $3 lease in ms.
-- Returns: the ids whose claim is gone.
-- Cost: a lookup per task, two index entries per extension.
WITH given AS (
  SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS g (id, claim_id)
), held AS (
  SELECT e.id FROM given g JOIN {schema}.outbox_evt e ON e.id = g.id AND e.claim_id = g.claim_id
  WHERE e.status = 'PROCESSING' ORDER BY e.id FOR UPDATE OF e SKIP LOCKED
), extended AS (
  UPDATE {schema}.outbox_evt e SET lease_until = clock_timestamp() + $3::double precision * interval '1 ms', updated_at = now()
  WHERE e.id = ANY (ARRAY(SELECT id FROM held)) AND e.status = 'PROCESSING'
)
SELECT g.id FROM given g
WHERE NOT EXISTS (
  SELECT FROM {schema}.outbox_evt e WHERE e.id = g.id AND e.claim_id = g.claim_id AND e.status = 'PROCESSING'
)
