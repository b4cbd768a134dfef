-- Removes a schedule; its batches stay.
-- Parameters: $1 tenant, $2 name.
-- Returns: its name, or no row when there was none.
-- Cost: one row.
DELETE FROM {schema}.outbox_schedule WHERE tenant = $1 AND name = $2 RETURNING name
