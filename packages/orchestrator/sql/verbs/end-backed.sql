-- Ends an operation whose backing has ended; see 0005-repair.sql.
-- Guarantee: once; may be repeated; in the caller's transaction if it has one.
-- Parameters: $1 op_id, $2 state, $3 outcome, $4 dead_letter, $5 mark of the end.
-- Returns: settled, waited and the operation; no row when there is none.
SELECT settled, waited, (found).* FROM {schema}.operation_end_backed($1::uuid, $2::text, $3::text, $4::boolean, $5::text)
