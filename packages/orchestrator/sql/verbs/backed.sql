-- Operations with work of a kind behind them that have not ended, in the order of their ids.
-- Guarantee: changes nothing.
-- Parameters: $1 kind, $2 after this id or null, $3 the most rows.
-- Returns: what is needed to look at that work.
SELECT op_id, tenant, domain, event_type, backing_kind, backing_ref FROM {schema}.operation
WHERE backing_kind = $1::text AND ended_at IS NULL AND ($2::uuid IS NULL OR op_id > $2::uuid)
ORDER BY op_id LIMIT $3::integer
