-- Operations whose keys are all new are accepted by their insertion alone. Before, each call looked every key up again, by a plan that is made once, mostly
-- when the table is empty: there operation_listed, which has only the tenant of the key, looks as good as operation_key, and every call read all operations
-- of the tenant until the first ANALYZE. At 1,000 a second that was a minute in which up to 85 % were refused for want of an answer.
ALTER FUNCTION operation_accept(
  uuid[], text[], text[], text[], text[], text[], text[], text[], text[], text[], integer[], text[], boolean[], text[], double precision[], double precision[]
) RENAME TO operation_accept_known;

-- Keys that are there are looked up by a plan for the table as it is: a tenth of a millisecond that few calls pay.
ALTER FUNCTION operation_accept_known(
  uuid[], text[], text[], text[], text[], text[], text[], text[], text[], text[], integer[], text[], boolean[], text[], double precision[], double precision[]
) SET plan_cache_mode = force_custom_plan;

-- As operation_accept_known (0002-accept.sql), which answers whenever a key or an op_id is there already.
-- Guarantee, parameters, returns: as there.
-- Cost: an insert each.
CREATE FUNCTION operation_accept(
  op_ids uuid[], tenants text[], domains text[], event_types text[], biz_keys text[], idem_keys text[], body_hashes text[], payloads text[],
  traceparents text[], kinds text[], attempts_maxes integer[], on_losts text[], idempotents boolean[], owners text[],
  lease_mss double precision[], key_ttl_mss double precision[]
)
  RETURNS TABLE (ix integer, answer text, found operation_row)
  LANGUAGE plpgsql
  SET search_path FROM CURRENT
  SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := operation_now();
  stored integer;
BEGIN
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
  GET DIAGNOSTICS stored = ROW_COUNT;
  IF stored = cardinality(op_ids) THEN
    RETURN QUERY SELECT g.ix, 'accepted', NULL::operation_row FROM generate_series(1, stored) AS g (ix);
  ELSE
    RETURN QUERY SELECT * FROM operation_accept_known(
      op_ids, tenants, domains, event_types, biz_keys, idem_keys, body_hashes, payloads, traceparents, kinds, attempts_maxes, on_losts,
      idempotents, owners, lease_mss, key_ttl_mss
    );
  END IF;
END
$$;
