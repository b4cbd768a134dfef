-- What time it is for the database.
-- Parameters: none.
-- Returns: one row, now.
-- Cost: nothing.
SELECT clock_timestamp() AS now
