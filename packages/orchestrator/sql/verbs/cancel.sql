-- Cancels an operation; see 0005-repair.sql.
-- Guarantee: may be repeated.
-- Parameters: $1 op_id, $2 outcome.
-- Returns: answer (cancelled, ahead, ended), waited and the operation; no row when there is none.
SELECT answer, waited, (found).* FROM {schema}.operation_cancel($1::uuid, $2::text)
