-- Adds a point to the progress of groups. One that has all its points loses every second of them, and is written half as often from then on.
-- Parameters: $1 slot, $2 time in ms, $3 most points of a group; $4 group ids (in order: two who write at once must not wait for each other),
-- $5 when each was made in ms, $6 counts of each.
-- Guarantee: a point of a slot is written once, whoever tries; what has not changed, or comes too soon, is left as it is.
-- Returns: the groups that were written.
-- Cost: a row for each; its points are written anew, some KB.
INSERT INTO {schema}.server_progress AS p (group_id, began, slot, counts, points)
SELECT group_id, began, $1::bigint, counts, jsonb_build_array(jsonb_build_array($2::bigint) || counts)
FROM unnest($4::text[], $5::bigint[], $6::jsonb[]) AS t (group_id, began, counts)
ON CONFLICT (group_id) DO UPDATE SET
  began = EXCLUDED.began,
  slot = EXCLUDED.slot,
  counts = EXCLUDED.counts,
  every = CASE
    WHEN p.began <> EXCLUDED.began THEN 1
    WHEN jsonb_array_length(p.points) < $3::integer THEN p.every
    ELSE p.every * 2
  END,
  points = CASE
    WHEN p.began <> EXCLUDED.began THEN '[]'::jsonb
    WHEN jsonb_array_length(p.points) < $3::integer THEN p.points
    ELSE (
      SELECT jsonb_agg(point ORDER BY n) FROM jsonb_array_elements(p.points) WITH ORDINALITY AS kept (point, n) WHERE n % 2 = 1
    )
  END || EXCLUDED.points
WHERE p.began <> EXCLUDED.began OR (EXCLUDED.slot >= p.slot + p.every AND EXCLUDED.counts <> p.counts)
RETURNING p.group_id
