-- Frees operations of owners whose lease has ended; see 0005-repair.sql.
-- Guarantee: each once. Repeated after a lost reply it goes on with the next ones.
-- Parameters: $1 the most operations, $2 and $3 outcomes of those that fail: at most once, and tries spent.
-- Returns: waited and the operation.
SELECT waited, (found).* FROM {schema}.operation_reap($1::integer, $2::text, $3::text)
