-- Operations with an outcome written ahead that nobody owns, the oldest first.
-- Guarantee: changes nothing.
-- Parameters: $1 the most rows, $2 after this id or null.
-- Returns: operations.
SELECT * FROM {schema}.operation_row
WHERE ahead AND ended_at IS NULL AND owner IS NULL AND ($2::uuid IS NULL OR op_id > $2::uuid)
ORDER BY op_id LIMIT $1::integer
