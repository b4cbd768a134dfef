-- Tries begin: PENDING becomes IN_PROGRESS.
-- Guarantee: only for the owner; what has begun, ended or changed hands is left alone. May be repeated.
-- Parameters, arrays of one length: $1 op_id, $2 token.
-- Returns: nothing.
WITH mine AS (
  SELECT o.op_id FROM unnest($1::uuid[], $2::integer[]) AS g (op_id, token)
  JOIN {schema}.operation o ON o.op_id = g.op_id AND o.token = g.token
  WHERE o.state = 'PENDING' AND o.owner IS NOT NULL
  ORDER BY o.op_id FOR UPDATE OF o
), moment AS MATERIALIZED (
  SELECT {schema}.operation_now() AS now
)
UPDATE {schema}.operation o SET state = 'IN_PROGRESS', started_at = m.now, updated_at = m.now
FROM moment m WHERE o.op_id = ANY (ARRAY(SELECT op_id FROM mine)) AND o.state = 'PENDING'
