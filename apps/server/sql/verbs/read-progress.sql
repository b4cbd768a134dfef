-- The points of a group.
-- Parameters: $1 group id, $2 when it was made, in ms.
-- Returns: one row, or none.
-- Cost: one row.
SELECT points FROM {schema}.server_progress WHERE group_id = $1 AND began = $2::bigint
