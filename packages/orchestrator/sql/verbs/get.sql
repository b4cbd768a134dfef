-- One operation.
-- Guarantee: changes nothing.
-- Parameters: $1 op_id.
-- Returns: the operation; no row when there is none.
SELECT * FROM {schema}.operation_row WHERE op_id = $1::uuid
