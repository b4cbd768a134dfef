-- Takes a schedule that is due, until the transaction ends. One that somebody else has taken is passed over.
-- Parameters: none.
-- Returns: the schedule, its payload as text, and the time of the database; or no row.
-- Cost: a look at the end of an index.
SELECT s.*, s.payload::text AS payload_text, clock_timestamp() AS now FROM {schema}.outbox_schedule s
WHERE NOT s.paused AND s.look_at <= (SELECT clock_timestamp())
ORDER BY s.look_at LIMIT 1
FOR UPDATE SKIP LOCKED
