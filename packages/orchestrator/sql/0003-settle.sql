-- Writes what came of tries. The specification is src/rules/settle-operation.ts.
-- Guarantee: only where the token is that of the owner; repeated it answers as the first time, by settled_as; an outcome written ahead stands.
-- Parameters: arrays of one length, no op_id twice. what: final, retry, backed or released; delay_ms: for those that wait; mark: see settlementMark.
-- Returns: one row for each: ix (from 1), settled, waited, and the operation (null when there is none).
-- Cost: a lookup and an update each. Rows are locked in the order of their ids.
CREATE FUNCTION operation_settle(
  op_ids uuid[], tokens integer[], whats text[], states text[], outcomes text[], dead_letters boolean[], delay_mss double precision[],
  refuseds boolean[], backing_kinds text[], backing_refs text[], marks text[]
)
  RETURNS TABLE (ix integer, settled boolean, waited boolean, found operation_row)
  LANGUAGE plpgsql
  SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz;
BEGIN
  PERFORM FROM operation o WHERE o.op_id = ANY (op_ids) ORDER BY o.op_id FOR UPDATE;
  moment := operation_now();
  UPDATE operation o SET
    state = CASE g.what
      WHEN 'final' THEN CASE WHEN o.ahead THEN 'FAILED' ELSE g.state END
      WHEN 'released' THEN o.state
      ELSE 'IN_PROGRESS'
    END,
    outcome = CASE WHEN o.ahead OR g.what IN ('backed', 'released') THEN o.outcome ELSE g.outcome END,
    dead_letter = g.what = 'final' AND NOT o.ahead AND g.dead_letter,
    attempts = o.attempts - (g.what = 'released' OR g.refused)::integer,
    refusals = o.refusals + g.refused::integer,
    owner = NULL,
    claim_ref = NULL,
    lease_from = NULL,
    lease_until = NULL,
    due_from = CASE WHEN NOT o.ahead AND g.delay_ms IS NOT NULL THEN moment END,
    due_at = CASE WHEN NOT o.ahead THEN moment + g.delay_ms * interval '1 ms' END,
    backing_kind = g.backing_kind,
    backing_ref = g.backing_ref,
    settled_as = g.mark,
    started_at = CASE WHEN g.what = 'released' THEN o.started_at ELSE coalesce(o.started_at, moment) END,
    updated_at = moment,
    ended_at = CASE WHEN g.what = 'final' THEN moment END
  FROM unnest(op_ids, tokens, whats, states, outcomes, dead_letters, delay_mss, refuseds, backing_kinds, backing_refs, marks)
    AS g (op_id, token, what, state, outcome, dead_letter, delay_ms, refused, backing_kind, backing_ref, mark)
  WHERE o.op_id = g.op_id AND o.token = g.token AND o.owner IS NOT NULL AND o.settled_as IS DISTINCT FROM g.mark;
  RETURN QUERY
  SELECT g.ix::integer, coalesce(o.settled_as = g.mark, false), coalesce(o.waited_until > moment, false), v
  FROM unnest(op_ids, marks) WITH ORDINALITY AS g (op_id, mark, ix)
  LEFT JOIN operation o ON o.op_id = g.op_id
  LEFT JOIN operation_row v ON v.op_id = o.op_id;
END
$$;
