-- Writes slots of the rings of one instance, each whole.
-- Parameters: $1 instance_id; $2 steps, $3 places, $4 slots, $5 counted, $6 seen (JSON null: it did not look), all of one length.
-- Guarantee: repeated it changes nothing; a slot never replaces a later one.
-- Returns: nothing.
-- Cost: a row for each.
INSERT INTO {schema}.server_stat AS s (instance_id, step, place, slot, counted, seen)
SELECT $1, step, place, slot, counted, CASE WHEN jsonb_typeof(seen) = 'object' THEN seen END
FROM unnest($2::smallint[], $3::smallint[], $4::bigint[], $5::jsonb[], $6::jsonb[]) AS t (step, place, slot, counted, seen)
ON CONFLICT (step, instance_id, place) DO UPDATE
  SET slot = EXCLUDED.slot, counted = EXCLUDED.counted, seen = EXCLUDED.seen
  WHERE s.slot <= EXCLUDED.slot
