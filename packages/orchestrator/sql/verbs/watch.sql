-- Looks at operations that somebody waits for, and notes how long; see 0005-repair.sql.
-- Guarantee: either whoever ends one sees the note, or this call sees the end; may be repeated.
-- Parameters: $1 op_ids, $2 how long from now, in ms.
-- Returns: operations in the order of their ids.
SELECT * FROM {schema}.operation_watch($1::uuid[], $2::double precision)
