-- Steps without an owner. The specification is src/rules/repair-operation.ts.

-- Ends one operation; what has not started passes through IN_PROGRESS; an outcome written ahead stands.
-- Parameters: id: locked by the caller, not ended; mark: see settlementMark, null to leave it.
CREATE FUNCTION operation_end(id uuid, end_state text, end_outcome text, is_dead boolean, mark text, moment timestamptz)
  RETURNS void
  LANGUAGE sql
  SET search_path FROM CURRENT
AS $$
  UPDATE operation o SET
    state = CASE WHEN o.ahead THEN 'FAILED' ELSE end_state END,
    outcome = CASE WHEN o.ahead THEN o.outcome ELSE end_outcome END,
    dead_letter = NOT o.ahead AND is_dead,
    owner = NULL, claim_ref = NULL, lease_from = NULL, lease_until = NULL, due_from = NULL, due_at = NULL,
    settled_as = coalesce(mark, o.settled_as),
    started_at = coalesce(o.started_at, moment), updated_at = moment, ended_at = moment
  WHERE o.op_id = id AND o.ended_at IS NULL
$$;

-- Ends an operation whose backing has ended.
-- Guarantee: once; repeated it answers as the first time, by settled_as. In the caller's transaction if it has one.
-- Returns: settled, waited and the operation; no row when there is none.
CREATE FUNCTION operation_end_backed(id uuid, end_state text, end_outcome text, is_dead boolean, mark text)
  RETURNS TABLE (settled boolean, waited boolean, found operation_row)
  LANGUAGE plpgsql
  SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
  o operation;
  moment timestamptz;
BEGIN
  SELECT * INTO o FROM operation WHERE op_id = id FOR UPDATE;
  moment := operation_now();
  IF o.settled_as IS DISTINCT FROM mark AND o.ended_at IS NULL AND (o.backing_kind IS NOT NULL OR o.kind <> 'inline') THEN
    PERFORM operation_end(id, end_state, end_outcome, is_dead, mark, moment);
  END IF;
  RETURN QUERY
  SELECT coalesce(n.settled_as = mark, false), coalesce(n.waited_until > moment, false), v
  FROM operation n JOIN operation_row v ON v.op_id = n.op_id WHERE n.op_id = id;
END
$$;

-- Cancels an operation: ends it, or writes the outcome ahead where a backing has to be told first.
-- Guarantee: repeated it answers as the first time.
-- Returns: answer (cancelled, ahead, ended), waited and the operation; no row when there is none.
CREATE FUNCTION operation_cancel(id uuid, cancel_outcome text)
  RETURNS TABLE (answer text, waited boolean, found operation_row)
  LANGUAGE plpgsql
  SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
  o operation;
  moment timestamptz;
BEGIN
  SELECT * INTO o FROM operation WHERE op_id = id FOR UPDATE;
  moment := operation_now();
  IF o.ended_at IS NULL AND NOT o.ahead THEN
    -- Nobody is to try it again. An owner may be handing it over right now, and keeps it until it knows. No place is needed by what is ahead.
    UPDATE operation SET ahead = true, outcome = cancel_outcome, due_from = NULL, due_at = NULL, updated_at = moment WHERE op_id = id;
    IF o.backing_kind IS NULL AND o.kind = 'inline' THEN
      PERFORM operation_end(id, 'FAILED', cancel_outcome, false, NULL, moment);
    END IF;
  END IF;
  RETURN QUERY
  SELECT CASE WHEN n.ended_at IS NULL THEN 'ahead' WHEN n.ahead THEN 'cancelled' ELSE 'ended' END, coalesce(n.waited_until > moment, false), v
  FROM operation n JOIN operation_row v ON v.op_id = n.op_id WHERE n.op_id = id;
END
$$;

-- Makes an outcome that was written ahead final, unless somebody owns the operation.
-- Guarantee: repeated it answers as the first time.
-- Returns: settled, waited and the operation; no row when there is none.
CREATE FUNCTION operation_finalize(id uuid)
  RETURNS TABLE (settled boolean, waited boolean, found operation_row)
  LANGUAGE plpgsql
  SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
  o operation;
  moment timestamptz;
BEGIN
  SELECT * INTO o FROM operation WHERE op_id = id FOR UPDATE;
  moment := operation_now();
  IF o.ahead AND o.ended_at IS NULL AND o.owner IS NULL THEN
    PERFORM operation_end(id, 'FAILED', o.outcome, false, NULL, moment);
  END IF;
  RETURN QUERY
  SELECT n.ahead AND n.ended_at IS NOT NULL, coalesce(n.waited_until > moment, false), v
  FROM operation n JOIN operation_row v ON v.op_id = n.op_id WHERE n.op_id = id;
END
$$;

-- Frees operations of owners whose lease has ended: each waits for another try, or fails where it must not have one. First brings back leases and waits
-- that began in the future: the clock was set back, and nobody could have these operations until it has caught up.
-- Guarantee: each is freed once; rows that somebody is changing right now are passed over.
-- Parameters: most; at_most_once, spent: the outcomes of those that fail.
-- Returns: waited and the operation, the longest silent first.
-- Cost: a look at every operation that somebody owns or that waits for a try (a clock that was set back shows nowhere else): thousands at most, twice a minute.
CREATE FUNCTION operation_reap(most integer, at_most_once text, spent text)
  RETURNS TABLE (waited boolean, found operation_row)
  LANGUAGE plpgsql
  SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := operation_now();
  picked uuid[];
BEGIN
  -- In seconds: an interval of days would follow the time zone of the session.
  UPDATE operation o SET lease_until = moment + extract(epoch FROM o.lease_until - o.lease_from) * interval '1 second', lease_from = moment
  WHERE o.op_id = ANY (ARRAY(
    SELECT c.op_id FROM operation c WHERE c.lease_until IS NOT NULL AND c.lease_from > moment ORDER BY c.op_id FOR UPDATE SKIP LOCKED
  ));
  UPDATE operation o SET due_at = moment + extract(epoch FROM o.due_at - o.due_from) * interval '1 second', due_from = moment
  WHERE o.op_id = ANY (ARRAY(
    SELECT c.op_id FROM operation c WHERE c.due_at IS NOT NULL AND c.due_from > moment ORDER BY c.op_id FOR UPDATE SKIP LOCKED
  ));
  SELECT array_agg(f.op_id ORDER BY f.lease_until, f.op_id) INTO picked FROM (
    SELECT o.op_id, o.lease_until FROM operation o WHERE o.lease_until <= moment ORDER BY o.lease_until, o.op_id LIMIT most FOR UPDATE SKIP LOCKED
  ) f;
  PERFORM operation_end(o.op_id, 'FAILED', CASE WHEN o.on_lost = 'fail' THEN at_most_once ELSE spent END, true, NULL, moment)
  FROM operation o WHERE o.op_id = ANY (picked) AND NOT o.ahead AND (o.on_lost = 'fail' OR o.attempts >= o.attempts_max);
  -- The try of each is counted, so it has begun, whether its owner still wrote that or not.
  UPDATE operation o SET
    state = 'IN_PROGRESS', started_at = coalesce(o.started_at, moment), updated_at = moment,
    owner = NULL, claim_ref = NULL, lease_from = NULL, lease_until = NULL,
    due_from = CASE WHEN NOT o.ahead THEN moment END, due_at = CASE WHEN NOT o.ahead THEN moment END
  WHERE o.op_id = ANY (picked) AND o.ended_at IS NULL;
  RETURN QUERY
  SELECT coalesce(v.waited_until > moment, false), v
  FROM unnest(picked) WITH ORDINALITY AS p (op_id, ix) JOIN operation_row v ON v.op_id = p.op_id
  ORDER BY p.ix;
END
$$;

-- Looks at operations and notes that somebody waits for news of them.
-- Guarantee: either whoever ends one sees the note, or this call sees the end: it waits for who is changing the row.
-- Parameters: op_ids; wait_ms: from now on.
-- Returns: the operations in the order of their ids; those that are not there are left out.
CREATE FUNCTION operation_watch(op_ids uuid[], wait_ms double precision)
  RETURNS SETOF operation_row
  LANGUAGE plpgsql
  SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz;
BEGIN
  PERFORM FROM operation o WHERE o.op_id = ANY (op_ids) ORDER BY o.op_id FOR UPDATE;
  moment := operation_now();
  UPDATE operation o SET waited_until = greatest(o.waited_until, moment + wait_ms * interval '1 ms')
  WHERE o.op_id = ANY (op_ids) AND o.ended_at IS NULL;
  RETURN QUERY SELECT v.* FROM operation_row v WHERE v.op_id = ANY (op_ids) ORDER BY v.op_id;
END
$$;
