-- Takes operations that wait and are due, the longest waiting first. The specification is claim in src/rules/own-operation.ts.
-- Guarantee: nobody gets what another one got; rows that somebody is changing right now are passed over. Repeated with the same ref after a lost
--   reply it gives the same operations.
-- Parameters: claimer; lease_ms; most; routes: DOMAIN.EVENT_TYPE, null for all; ref: names this call.
-- Returns: operations with their payloads.
-- Cost: per route one walk along the index of what is due, at most `most` rows.
CREATE FUNCTION operation_claim(claimer text, lease_ms double precision, most integer, routes text[], ref uuid)
  RETURNS TABLE (found operation_row, payload text)
  LANGUAGE plpgsql
  SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := operation_now();
  picked uuid[];
BEGIN
  SELECT array_agg(o.op_id ORDER BY o.op_id) INTO picked FROM operation o WHERE o.claim_ref = ref;
  IF picked IS NULL THEN
    IF routes IS NULL THEN
      SELECT array_agg(f.op_id ORDER BY f.due_at, f.op_id) INTO picked FROM (
        SELECT o.op_id, o.due_at FROM operation o WHERE o.due_at <= moment ORDER BY o.due_at, o.op_id LIMIT most FOR UPDATE SKIP LOCKED
      ) f;
    ELSE
      SELECT array_agg(l.op_id ORDER BY l.due_at, l.op_id) INTO picked FROM (
        SELECT f.op_id, f.due_at FROM unnest(routes) AS r (route)
        CROSS JOIN LATERAL (
          SELECT o.op_id, o.due_at FROM operation o
          WHERE o.domain = split_part(r.route, '.', 1) AND o.event_type = split_part(r.route, '.', 2) AND o.due_at <= moment
          ORDER BY o.due_at, o.op_id
          LIMIT most
          FOR UPDATE SKIP LOCKED
        ) f
        ORDER BY f.due_at, f.op_id
        LIMIT most
      ) l;
    END IF;
    UPDATE operation o SET
      owner = claimer, token = o.token + 1, attempts = o.attempts + 1, claim_ref = ref, due_from = NULL, due_at = NULL,
      lease_from = moment, lease_until = moment + lease_ms * interval '1 ms', updated_at = moment
    WHERE o.op_id = ANY (picked);
  END IF;
  RETURN QUERY
  SELECT v, o.payload
  FROM unnest(picked) WITH ORDINALITY AS p (op_id, ix)
  JOIN operation o ON o.op_id = p.op_id
  JOIN operation_row v ON v.op_id = p.op_id
  ORDER BY p.ix;
END
$$;
