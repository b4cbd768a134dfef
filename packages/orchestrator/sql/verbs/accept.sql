-- Stores operations, PENDING and owned, or finds those that have their keys; see 0002-accept.sql.
-- Guarantee: one operation for a key, however many ask at once; may be repeated.
-- Parameters, arrays of one length: $1 op_id, $2 tenant, $3 domain, $4 event_type, $5 biz_key, $6 idem_key, $7 body_hash, $8 payload,
--   $9 traceparent or null, $10 kind, $11 attempts_max, $12 on_lost, $13 idempotent, $14 owner, $15 lease in ms, $16 how long keys are kept, in ms.
-- Returns: ix (from 1), answer, and the operation that was found.
SELECT ix, answer, (found).*
FROM {schema}.operation_accept(
  $1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::integer[],
  $12::text[], $13::boolean[], $14::text[], $15::double precision[], $16::double precision[]
)
