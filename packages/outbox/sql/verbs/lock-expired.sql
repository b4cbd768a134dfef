-- Locks a task whose lease has expired, if it still has.
-- Parameters: $1 id, $2 claim_id, $3 whether its worker is known to be dead.
-- Returns: its id, or no row.
-- Cost: one lookup.
SELECT id FROM {schema}.outbox_evt
WHERE id = $1::bigint AND claim_id = $2::bigint AND status = 'PROCESSING' AND ($3::boolean OR lease_until <= clock_timestamp())
FOR UPDATE
