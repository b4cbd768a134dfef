-- Operations: one row each, from its acceptance to its deletion. Times are those of the server.

-- The one place where the time comes from. Tests put another one in its place, and nothing else.
CREATE FUNCTION operation_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()';

CREATE TABLE operation (
  op_id uuid PRIMARY KEY,
  tenant text NOT NULL,
  domain text NOT NULL,
  event_type text NOT NULL,
  biz_key text NOT NULL,
  idem_key text NOT NULL,
  -- Of the canonical payload: the same key with another body is a conflict.
  body_hash text NOT NULL,
  -- JSON as text: json and jsonb refuse NUL characters, half surrogate pairs and deep nesting.
  payload text NOT NULL,
  traceparent text,
  -- What the route said when the operation was accepted.
  kind text NOT NULL,
  attempts_max integer NOT NULL,
  on_lost text NOT NULL CHECK (on_lost IN ('retry', 'fail')),
  idempotent boolean NOT NULL,
  state text NOT NULL DEFAULT 'PENDING' CHECK (state IN ('PENDING', 'IN_PROGRESS', 'COMPLETED', 'FAILED')),
  outcome text,
  -- Cancelled: the outcome stands, whatever else comes. Before the end it is written ahead, and the backing has to be told.
  ahead boolean NOT NULL DEFAULT false,
  attempts integer NOT NULL DEFAULT 1,
  refusals integer NOT NULL DEFAULT 0,
  owner text,
  -- The fence: the next owner has a higher one.
  token integer NOT NULL DEFAULT 1,
  -- Which call of claim took it: repeated after a lost reply, that call gets the same operations again.
  claim_ref uuid,
  -- Since when and until when; the beginning shows a clock that was set back.
  lease_from timestamptz,
  lease_until timestamptz,
  due_from timestamptz,
  due_at timestamptz,
  backing_kind text,
  backing_ref text,
  -- Somebody waits for news until then: whoever changes the operation tells it by a notice.
  waited_until timestamptz,
  -- Whether its key leads to it; an old key is given to a new operation.
  keyed boolean NOT NULL DEFAULT true,
  dead_letter boolean NOT NULL DEFAULT false,
  -- The latest settlement: repeated after a lost reply it is known again.
  settled_as text,
  accepted_at timestamptz NOT NULL,
  started_at timestamptz,
  updated_at timestamptz NOT NULL,
  ended_at timestamptz,
  -- What has not ended is in exactly one place: owned, waiting, backed, or left to the Finalizer.
  CONSTRAINT operation_ended CHECK ((ended_at IS NOT NULL) = (state IN ('COMPLETED', 'FAILED'))),
  CONSTRAINT operation_begun CHECK ((started_at IS NULL) = (state = 'PENDING')),
  CONSTRAINT operation_owned CHECK ((owner IS NULL) = (lease_until IS NULL) AND (lease_until IS NULL) = (lease_from IS NULL)),
  CONSTRAINT operation_waits CHECK ((due_at IS NULL) = (due_from IS NULL)),
  CONSTRAINT operation_placed CHECK (
    CASE WHEN ended_at IS NOT NULL THEN owner IS NULL AND due_at IS NULL
      ELSE (owner IS NOT NULL)::integer + (due_at IS NOT NULL)::integer + (backing_kind IS NOT NULL)::integer <= 1
        AND (owner IS NOT NULL OR due_at IS NOT NULL OR backing_kind IS NOT NULL OR ahead)
    END
  )
)
-- Room for the version of a row that its beginning writes, on its own page.
WITH (fillfactor = 70);

CREATE UNIQUE INDEX operation_key ON operation (tenant, domain, event_type, biz_key, idem_key) WHERE keyed;
CREATE INDEX operation_listed ON operation (tenant, op_id);
-- What people ask by: without it a look at 200,000 operations took 50 to 340 ms.
CREATE INDEX operation_of_biz_key ON operation (biz_key, op_id);
CREATE INDEX operation_open ON operation (op_id) WHERE ended_at IS NULL;
CREATE INDEX operation_leased ON operation (lease_until) WHERE lease_until IS NOT NULL;
-- Those of operations that wait, are backed or cancelled: an inline operation that ends in its first try is in none of them.
CREATE INDEX operation_due ON operation (due_at, op_id) WHERE due_at IS NOT NULL;
CREATE INDEX operation_due_of_route ON operation (domain, event_type, due_at, op_id) WHERE due_at IS NOT NULL;
CREATE INDEX operation_due_from ON operation (due_from) WHERE due_at IS NOT NULL;
CREATE INDEX operation_claimed ON operation (claim_ref) WHERE claim_ref IS NOT NULL;
CREATE INDEX operation_backed ON operation (backing_kind, op_id) WHERE backing_kind IS NOT NULL AND ended_at IS NULL;
CREATE INDEX operation_ahead ON operation (op_id) WHERE ahead AND ended_at IS NULL;
-- Retention, and the counts of ended operations without a look at their rows.
CREATE INDEX operation_over ON operation (ended_at, op_id) INCLUDE (state, dead_letter) WHERE ended_at IS NOT NULL;
CREATE INDEX operation_dead ON operation (op_id) WHERE dead_letter;

-- All that answers show of an operation; its payload, up to a mebibyte, does not travel with every answer.
CREATE VIEW operation_row AS
SELECT op_id, tenant, domain, event_type, biz_key, idem_key, traceparent, kind, attempts_max, on_lost, idempotent, state, outcome, ahead,
  attempts, refusals, owner, token, lease_from, lease_until, due_from, due_at, backing_kind, backing_ref, waited_until, keyed, dead_letter,
  accepted_at, started_at, updated_at, ended_at
FROM operation;
