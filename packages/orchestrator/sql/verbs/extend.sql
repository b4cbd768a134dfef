-- Extends leases; see 0006-hold.sql.
-- Guarantee: only for the owner; may be repeated.
-- Parameters: $1 op_ids, $2 their tokens, $3 lease in ms.
-- Returns: the op_ids that are not the caller's any more.
SELECT op_id FROM {schema}.operation_extend($1::uuid[], $2::integer[], $3::double precision)
