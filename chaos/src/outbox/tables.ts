/**
 * The tables of the user: one row per task, per batch that ended, per order that was placed with a batch. Nothing in
 * them is unique, so whatever happens twice is there twice.
 */
export const USER_TABLES = `
  CREATE TABLE effect (
    seq bigint GENERATED ALWAYS AS IDENTITY,
    batch text NOT NULL,
    task text NOT NULL,
    run text NOT NULL,
    inputs jsonb NOT NULL,
    found text[] NOT NULL
  );
  CREATE INDEX ON effect (batch);
  CREATE TABLE batch_end (batch text NOT NULL, status text NOT NULL, effects integer NOT NULL);
  CREATE TABLE placed_order (batch text NOT NULL);
`;

/** $1 batch, $2 task, $3 run, $4 inputs: the row of a task, with the tasks of its batch whose rows it found there. */
export const INSERT_EFFECT = `
  INSERT INTO effect (batch, task, run, inputs, found)
  SELECT $1, $2, $3, $4::jsonb, coalesce(array_agg(task), '{}') FROM effect WHERE batch = $1
  RETURNING seq`;

/** $1 batch, $2 status: the row of a batch that ended, with how many rows of its tasks it found there. */
export const INSERT_END = `
  INSERT INTO batch_end (batch, status, effects)
  SELECT $1, $2, count(*) FROM effect WHERE batch = $1`;

/** $1 batch. */
export const INSERT_ORDER = 'INSERT INTO placed_order (batch) VALUES ($1)';
