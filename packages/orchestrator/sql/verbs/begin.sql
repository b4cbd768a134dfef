-- Tries begin; see 0006-hold.sql.
-- Guarantee: only for the owner; may be repeated.
-- Parameters, arrays of one length: $1 op_id, $2 token.
-- Returns: nothing.
SELECT {schema}.operation_begin($1::uuid[], $2::integer[])
