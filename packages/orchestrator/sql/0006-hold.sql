-- What an owner does while it has operations. Functions, so that their plans use indexes whatever the size of the table was when they were made:
-- as plain statements they read all operations, for as long as the statistics said that there were none.

-- Tries begin: PENDING becomes IN_PROGRESS.
-- Guarantee: only for the owner; what has begun, ended or changed hands is left alone. May be repeated.
-- Parameters: arrays of one length.
-- Cost: a lookup and an update each. Rows are locked in the order of their ids.
CREATE FUNCTION operation_begin(op_ids uuid[], tokens integer[])
  RETURNS void
  LANGUAGE plpgsql
  SET search_path FROM CURRENT
AS $$
DECLARE
  mine uuid[];
  moment timestamptz;
BEGIN
  SELECT array_agg(f.op_id) INTO mine FROM (
    SELECT o.op_id FROM unnest(op_ids, tokens) AS g (op_id, token)
    JOIN operation o ON o.op_id = g.op_id AND o.token = g.token
    WHERE o.state = 'PENDING' AND o.owner IS NOT NULL
    ORDER BY o.op_id FOR UPDATE OF o
  ) f;
  moment := operation_now();
  UPDATE operation o SET state = 'IN_PROGRESS', started_at = moment, updated_at = moment
  WHERE o.op_id = ANY (mine) AND o.state = 'PENDING';
END
$$;

-- Extends leases.
-- Guarantee: only for the owner; a row that somebody is changing right now is passed over, not waited for. May be repeated.
-- Parameters: arrays of one length; lease_ms.
-- Returns: the op_ids that are not the caller's any more.
-- Cost: two lookups and an update each.
CREATE FUNCTION operation_extend(op_ids uuid[], tokens integer[], lease_ms double precision)
  RETURNS TABLE (op_id uuid)
  LANGUAGE plpgsql
  SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
  held uuid[];
  moment timestamptz;
BEGIN
  SELECT array_agg(f.op_id) INTO held FROM (
    SELECT o.op_id FROM unnest(op_ids, tokens) AS g (op_id, token)
    JOIN operation o ON o.op_id = g.op_id AND o.token = g.token
    WHERE o.owner IS NOT NULL
    ORDER BY o.op_id FOR UPDATE OF o SKIP LOCKED
  ) f;
  moment := operation_now();
  UPDATE operation o SET lease_from = moment, lease_until = moment + lease_ms * interval '1 ms'
  WHERE o.op_id = ANY (held) AND o.owner IS NOT NULL;
  RETURN QUERY
  SELECT g.op_id FROM unnest(op_ids, tokens) AS g (op_id, token)
  WHERE NOT EXISTS (SELECT FROM operation o WHERE o.op_id = g.op_id AND o.token = g.token AND o.owner IS NOT NULL);
END
$$;
