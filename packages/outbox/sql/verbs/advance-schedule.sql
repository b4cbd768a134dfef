-- Notes what is settled of a schedule, in the transaction that starts its batches, under take-schedule. One that has more to catch up with goes to
-- the end of those that are due.
-- Parameters: $1 tenant, $2 name, $3 next period or null, $4 latest period that got a batch or null, $5 that batch or null.
-- Returns: nothing.
-- Cost: one row.
UPDATE {schema}.outbox_schedule
SET next_at = $3::timestamptz, look_at = CASE WHEN $3::timestamptz IS NOT NULL THEN greatest($3::timestamptz, clock_timestamp()) END,
  last_at = coalesce($4::timestamptz, last_at), last_batch_id = coalesce($5::bigint, last_batch_id),
  failures = 0, error = NULL, updated_at = now()
WHERE tenant = $1 AND name = $2
