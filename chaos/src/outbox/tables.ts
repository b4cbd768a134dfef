/**
 * The tables of the user: one row per task, per batch that ended, per order that was placed with a batch. Nothing in
 * them is unique, so whatever happens twice is there twice. `batch_move` is none of the user's: a trigger writes down every change of
 * a batch's state, so that it is known how often each has ended, whatever callers and listeners were told.
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
  CREATE TABLE batch_end (
    seq bigint GENERATED ALWAYS AS IDENTITY,
    batch text NOT NULL,
    status text NOT NULL,
    effects integer NOT NULL
  );
  CREATE TABLE placed_order (batch text NOT NULL);
  CREATE TABLE batch_move (
    seq bigint GENERATED ALWAYS AS IDENTITY,
    batch text NOT NULL,
    from_status text NOT NULL,
    to_status text NOT NULL
  );
  CREATE FUNCTION note_batch_move() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
  BEGIN
    INSERT INTO batch_move (batch, from_status, to_status) VALUES (NEW.biz_key, OLD.status::text, NEW.status::text);
    RETURN NULL;
  END
  $$;
  CREATE TRIGGER note_batch_move AFTER UPDATE ON millrace.batch_instance
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION note_batch_move();
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
