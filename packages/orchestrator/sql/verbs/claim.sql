-- Takes operations that are due; see 0004-claim.sql.
-- Guarantee: nobody gets what another one got; may be repeated with the same $5.
-- Parameters: $1 owner, $2 lease in ms, $3 the most operations, $4 routes or null for all, $5 a UUID that names this call.
-- Returns: operations with their payloads, the longest waiting first.
SELECT (found).*, payload FROM {schema}.operation_claim($1::text, $2::double precision, $3::integer, $4::text[], $5::uuid)
