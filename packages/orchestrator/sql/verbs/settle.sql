-- Writes what came of tries; see 0003-settle.sql.
-- Guarantee: only for the owner; may be repeated.
-- Parameters, arrays of one length, no op_id twice: $1 op_id, $2 token, $3 final, retry, backed or released, $4 state, $5 outcome, $6 dead_letter,
--   $7 delay in ms for those that wait, $8 whether no try began, $9 and $10 backing, $11 mark of the settlement.
-- Returns: ix (from 1), settled, waited, and the operation.
SELECT ix, settled, waited, (found).*
FROM {schema}.operation_settle(
  $1::uuid[], $2::integer[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::double precision[], $8::boolean[], $9::text[], $10::text[],
  $11::text[]
)
