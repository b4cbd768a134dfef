-- Operations with an outcome written ahead that nobody owns, the oldest first.
-- Guarantee: changes nothing.
-- Parameters: $1 the most rows.
-- Returns: operations.
SELECT * FROM {schema}.operation_row WHERE ahead AND ended_at IS NULL AND owner IS NULL ORDER BY op_id LIMIT $1::integer
