-- Slots of a ring, of every instance. They are added up by whoever asks: jsonb_each over all names took five times as long.
-- Parameters: $1 step, $2 first slot, $3 last slot.
-- Returns: a row for each slot that an instance has written.
-- Cost: an index walk over what is returned.
SELECT slot, counted, seen FROM {schema}.server_stat
WHERE step = $1::smallint AND slot BETWEEN $2::bigint AND $3::bigint ORDER BY slot
