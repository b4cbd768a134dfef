-- The slots of a ring over all instances: what they did added up, of what they saw the greatest.
-- Parameters: $1 step, $2 first slot, $3 last slot.
-- Returns: a row for each slot that anybody has written.
-- Cost: an index walk over the slots, and each number in them once.
WITH rows AS MATERIALIZED (
  SELECT slot, counted, seen FROM {schema}.server_stat WHERE step = $1::smallint AND slot BETWEEN $2::bigint AND $3::bigint
), slots AS (
  SELECT slot, count(*)::integer AS instances FROM rows GROUP BY slot
), sums AS (
  SELECT slot, jsonb_object_agg(key, value) AS counted FROM (
    SELECT slot, key, sum(value::double precision) AS value FROM rows, jsonb_each_text(counted) GROUP BY slot, key
  ) t GROUP BY slot
), greatest_ones AS (
  SELECT slot, jsonb_object_agg(key, value) AS seen FROM (
    SELECT slot, key, max(value::double precision) AS value FROM rows, jsonb_each_text(seen) GROUP BY slot, key
  ) t GROUP BY slot
)
SELECT slots.slot, instances, coalesce(counted, '{}') AS counted, seen
FROM slots LEFT JOIN sums USING (slot) LEFT JOIN greatest_ones USING (slot) ORDER BY slot
