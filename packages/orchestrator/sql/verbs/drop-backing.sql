-- The backing of an operation is gone: it waits for another try.
-- Guarantee: not for one that has ended or is cancelled.
-- Parameters: $1 op_id.
-- Returns: its op_id when it was changed.
UPDATE {schema}.operation o SET backing_kind = NULL, backing_ref = NULL, due_from = m.now, due_at = m.now, updated_at = m.now
FROM (SELECT {schema}.operation_now() AS now) m
WHERE o.op_id = $1::uuid AND o.backing_kind IS NOT NULL AND o.ended_at IS NULL AND NOT o.ahead
RETURNING o.op_id
