-- Says that an instance which runs has these versions, so that they are not forgotten.
-- Parameters: $1 versions.
-- Returns: those that are stored.
-- Cost: a row per version.
UPDATE {schema}.dag SET used_at = clock_timestamp() WHERE version = ANY ($1::integer[]) RETURNING version
