-- The same as list.sql for operations that have not ended: these have an index of their own, since all others are many more.
-- Guarantee: changes nothing.
-- Parameters: $1 tenant or null, $2 domain or null, $3 event_type or null, $4 biz_key or null, $5 state or null, $6 whether only dead letters,
--   $7 before this id or null, $8 the most rows.
-- Returns: operations.
SELECT * FROM {schema}.operation_row
WHERE ended_at IS NULL AND ($1::text IS NULL OR tenant = $1) AND ($2::text IS NULL OR domain = $2) AND ($3::text IS NULL OR event_type = $3)
  AND ($4::text IS NULL OR biz_key = $4) AND ($5::text IS NULL OR state = $5) AND (NOT $6::boolean OR dead_letter)
  AND ($7::uuid IS NULL OR op_id < $7::uuid)
ORDER BY op_id DESC LIMIT $8::integer
