/**
 * The tables of the user: one row per task of a batch, one per errand. Nothing in `effect` is unique, so whatever happens twice is there twice.
 * `operation_change` is none of the user's: a trigger writes down every change of an operation that somebody could see, so that it is known how
 * often each has ended, whatever callers and listeners were told.
 */
export const USER_TABLES = `
  CREATE TABLE effect (
    seq bigint GENERATED ALWAYS AS IDENTITY,
    op_id text NOT NULL,
    task text NOT NULL
  );
  CREATE TABLE errand (
    op_id uuid PRIMARY KEY,
    due_at timestamptz NOT NULL,
    cancelled boolean NOT NULL DEFAULT false
  );
  CREATE TABLE errand_sent (op_id uuid NOT NULL);
  CREATE INDEX ON errand_sent (op_id);
  CREATE TABLE operation_change (
    seq bigint GENERATED ALWAYS AS IDENTITY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    op_id uuid NOT NULL,
    from_state text,
    to_state text NOT NULL,
    outcome text,
    from_owner text,
    to_owner text,
    token integer NOT NULL,
    attempts integer NOT NULL,
    refusals integer NOT NULL,
    ahead boolean NOT NULL,
    settled boolean NOT NULL
  );
  CREATE FUNCTION note_operation_change() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
  BEGIN
    INSERT INTO operation_change (op_id, from_state, to_state, outcome, from_owner, to_owner, token, attempts, refusals, ahead, settled)
    VALUES (NEW.op_id, OLD.state, NEW.state, NEW.outcome, OLD.owner, NEW.owner, NEW.token, NEW.attempts, NEW.refusals, NEW.ahead,
      OLD.settled_as IS DISTINCT FROM NEW.settled_as);
    RETURN NULL;
  END
  $$;
  CREATE TRIGGER note_operation_insert AFTER INSERT ON millrace.operation FOR EACH ROW EXECUTE FUNCTION note_operation_change();
  CREATE TRIGGER note_operation_change AFTER UPDATE ON millrace.operation
    FOR EACH ROW WHEN (ROW(OLD.state, OLD.outcome, OLD.owner, OLD.token, OLD.ahead, OLD.settled_as)
      IS DISTINCT FROM ROW(NEW.state, NEW.outcome, NEW.owner, NEW.token, NEW.ahead, NEW.settled_as))
    EXECUTE FUNCTION note_operation_change();
`;

/** $1 operation, $2 task: the row of a task. */
export const INSERT_EFFECT = 'INSERT INTO effect (op_id, task) VALUES ($1, $2)';

/** $1 operation, $2 how long it takes, $3 whether it is forgotten when it is sent for the first time. */
export const SEND_ERRAND = `
  WITH sent AS (INSERT INTO errand_sent (op_id) VALUES ($1::uuid))
  INSERT INTO errand (op_id, due_at)
  SELECT $1::uuid, clock_timestamp() + $2::integer * interval '1 ms'
  WHERE NOT $3::boolean OR EXISTS (SELECT FROM errand_sent WHERE op_id = $1::uuid)
  ON CONFLICT DO NOTHING`;

/** $1 operations: the errands of these that somebody remembers. */
export const LOOK_AT_ERRANDS =
  'SELECT op_id::text AS "opId", cancelled, due_at <= clock_timestamp() AS done FROM errand WHERE op_id = ANY ($1::uuid[])';

/** $1 operation. */
export const CANCEL_ERRAND =
  'UPDATE errand SET cancelled = true WHERE op_id = $1::uuid AND due_at > clock_timestamp()';
