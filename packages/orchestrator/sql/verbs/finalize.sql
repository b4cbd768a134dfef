-- Makes an outcome that was written ahead final; see 0005-repair.sql.
-- Guarantee: may be repeated.
-- Parameters: $1 op_id.
-- Returns: settled, waited and the operation; no row when there is none.
SELECT settled, waited, (found).* FROM {schema}.operation_finalize($1::uuid)
