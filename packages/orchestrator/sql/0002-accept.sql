-- Stores operations, PENDING and owned, or finds those that have their keys. The specification is judgeKey in src/rules/own-operation.ts.
-- Guarantee: of any number of calls with one key at once, one stores; the others find what it stored. Repeated with the same op_id it answers as the
--   first time. An old key whose operation has ended is taken from it in the same transaction.
-- Parameters: arrays of one length.
-- Returns: one row for each: ix (from 1), answer (accepted, known, conflict; again: the operation
--   was deleted at this moment), and the operation that was found (not for accepted).
-- Cost: an insert each; a second round only for old keys.
-- Everybody inserts in the order of the keys, so that two that want the same ones never wait for each other.
CREATE FUNCTION operation_accept(
  op_ids uuid[], tenants text[], domains text[], event_types text[], biz_keys text[], idem_keys text[], body_hashes text[], payloads text[],
  traceparents text[], kinds text[], attempts_maxes integer[], on_losts text[], idempotents boolean[], owners text[],
  lease_mss double precision[], key_ttl_mss double precision[]
)
  RETURNS TABLE (ix integer, answer text, found operation_row)
  LANGUAGE plpgsql
  SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := operation_now();
  missing integer;
  expired uuid[];
BEGIN
  FOR round IN 1 .. 20 LOOP
    INSERT INTO operation (
      op_id, tenant, domain, event_type, biz_key, idem_key, body_hash, payload, traceparent, kind, attempts_max, on_lost, idempotent, owner,
      lease_from, lease_until, accepted_at, updated_at
    )
    SELECT g.op_id, g.tenant, g.domain, g.event_type, g.biz_key, g.idem_key, g.body_hash, g.payload, g.traceparent, g.kind, g.attempts_max,
      g.on_lost, g.idempotent, g.owner, moment, moment + g.lease_ms * interval '1 ms', moment, moment
    FROM unnest(
      op_ids, tenants, domains, event_types, biz_keys, idem_keys, body_hashes, payloads, traceparents, kinds, attempts_maxes, on_losts,
      idempotents, owners, lease_mss
    ) AS g (
      op_id, tenant, domain, event_type, biz_key, idem_key, body_hash, payload, traceparent, kind, attempts_max, on_lost, idempotent, owner, lease_ms
    )
    ORDER BY g.tenant, g.domain, g.event_type, g.biz_key, g.idem_key, g.op_id
    ON CONFLICT DO NOTHING;
    -- Whoever had the key may have been deleted since, or it may be old.
    SELECT count(*) FILTER (WHERE h.op_id IS NULL),
      array_agg(h.op_id ORDER BY h.op_id)
        FILTER (WHERE h.ended_at IS NOT NULL AND h.accepted_at + g.key_ttl_ms * interval '1 ms' <= moment)
    INTO missing, expired
    FROM unnest(op_ids, tenants, domains, event_types, biz_keys, idem_keys, key_ttl_mss)
      AS g (op_id, tenant, domain, event_type, biz_key, idem_key, key_ttl_ms)
    LEFT JOIN operation h ON h.tenant = g.tenant AND h.domain = g.domain AND h.event_type = g.event_type AND h.biz_key = g.biz_key
      AND h.idem_key = g.idem_key AND h.keyed
    WHERE NOT EXISTS (SELECT FROM operation s WHERE s.op_id = g.op_id);
    EXIT WHEN missing = 0 AND expired IS NULL;
    IF round = 20 THEN
      RAISE EXCEPTION 'keys of operations changed hands too often' USING ERRCODE = 'serialization_failure';
    END IF;
    PERFORM FROM operation o WHERE o.op_id = ANY (expired) ORDER BY o.op_id FOR UPDATE;
    UPDATE operation o SET keyed = false WHERE o.op_id = ANY (expired) AND o.keyed;
  END LOOP;
  RETURN QUERY
  SELECT g.ix::integer,
    CASE
      WHEN s.op_id IS NULL THEN CASE WHEN h.op_id IS NULL THEN 'again' WHEN h.body_hash = g.body_hash THEN 'known' ELSE 'conflict' END
      WHEN s.tenant = g.tenant AND s.domain = g.domain AND s.event_type = g.event_type AND s.biz_key = g.biz_key AND s.idem_key = g.idem_key
        AND s.body_hash = g.body_hash THEN 'accepted'
      ELSE 'conflict'
    END,
    v
  FROM unnest(op_ids, tenants, domains, event_types, biz_keys, idem_keys, body_hashes) WITH ORDINALITY
    AS g (op_id, tenant, domain, event_type, biz_key, idem_key, body_hash, ix)
  LEFT JOIN operation s ON s.op_id = g.op_id
  LEFT JOIN operation h ON s.op_id IS NULL AND h.tenant = g.tenant AND h.domain = g.domain AND h.event_type = g.event_type
    AND h.biz_key = g.biz_key AND h.idem_key = g.idem_key AND h.keyed
  LEFT JOIN operation_row v ON v.op_id = h.op_id;
END
$$;
