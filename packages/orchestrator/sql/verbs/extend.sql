-- Extends leases.
-- Guarantee: only for the owner; a row that somebody is changing right now is passed over, not waited for. May be repeated.
-- Parameters: $1 op_ids, $2 their tokens, $3 lease in ms.
-- Returns: the op_ids that are not the caller's any more.
WITH given AS (
  SELECT * FROM unnest($1::uuid[], $2::integer[]) AS g (op_id, token)
), held AS (
  SELECT o.op_id FROM given g JOIN {schema}.operation o ON o.op_id = g.op_id AND o.token = g.token
  WHERE o.owner IS NOT NULL ORDER BY o.op_id FOR UPDATE OF o SKIP LOCKED
), moment AS MATERIALIZED (
  SELECT {schema}.operation_now() AS now
), extended AS (
  UPDATE {schema}.operation o SET lease_from = m.now, lease_until = m.now + $3::double precision * interval '1 ms'
  FROM moment m WHERE o.op_id = ANY (ARRAY(SELECT op_id FROM held)) AND o.owner IS NOT NULL
)
SELECT g.op_id FROM given g
WHERE NOT EXISTS (
  SELECT FROM {schema}.operation o WHERE o.op_id = g.op_id AND o.token = g.token AND o.owner IS NOT NULL
)
