import { defineErrors } from '@millrace/foundation';

/** The errors of this package. What PostgreSQL itself says of a statement is thrown as it came, with its SQLSTATE. */
export const ERRORS = defineErrors('postgres', {
  BACKEND_UNAVAILABLE: {
    message: 'PostgreSQL could not do {operation}: {reason}; try again later',
    status: 503,
    retryable: true,
  },
  DATABASE_TIMEOUT: {
    message: '{what} took longer than {timeoutMs} ms',
    status: 504,
    retryable: true,
  },
  COMMIT_UNKNOWN: {
    message:
      'The reply to COMMIT was lost and nobody can say yet whether transaction {xid} has committed; ask transactionOutcome before you repeat it',
    status: 503,
    retryable: false,
  },
  TX_TIMEOUT: {
    message: 'The transaction did not end within {timeoutMs} ms and was rolled back',
    status: 504,
    retryable: true,
  },
  TX_CLOSED: {
    message:
      'The transaction has ended ({reason}): nothing can be done through its tx; await every query before the function returns',
    status: 500,
    retryable: false,
  },
  TX_REENTRANT: {
    message: '{call} was called from inside a transaction and would {consequence}; use {instead}',
    status: 500,
    retryable: false,
  },
  TX_ROLLED_BACK: {
    message:
      'A statement of the transaction failed and its error was not passed on, so PostgreSQL rolled everything back; throw the error, or put the statement into tx.transaction',
    status: 500,
    retryable: true,
  },
  PARAMETER_INVALID: {
    message: 'Parameter {position} must be {expected}, got {given}; nothing was sent',
    status: 400,
    retryable: false,
  },
  IDENTIFIER_INVALID: {
    message: 'A name in PostgreSQL must be {expected}, got {given}',
    status: 400,
    retryable: false,
  },
  DRIVER_MISSING: {
    message: 'The package {library} is not installed; run npm install {library}',
    status: 500,
    retryable: false,
  },
  DATABASE_VERSION_UNSUPPORTED: {
    message: 'PostgreSQL is of version {found}, expected 14 or later',
    status: 500,
    retryable: false,
  },
  DATABASE_IN_USE: {
    message:
      'The database in {directory} is open in process {pid} on {host}: PGlite has one user at a time; stop that process, or use PostgreSQL (DATABASE_URL)',
    status: 503,
    retryable: false,
  },
  DATABASE_DIRECTORY_INVALID: {
    message: '{directory} cannot hold the database: {reason}; nothing in it was touched',
    status: 500,
    retryable: false,
  },
  MIGRATION_INVALID: {
    message: 'The migration {file} cannot be used: {reason}',
    status: 500,
    retryable: false,
  },
  MIGRATION_CHANGED: {
    message:
      'The migration {file} was changed after it had been applied to schema {schema}; restore it and write a new one',
    status: 500,
    retryable: false,
  },
  MIGRATION_GAP: {
    message:
      'Schema {schema} has migration {found} of {package} but not {missing}; restore the database from a backup',
    status: 500,
    retryable: false,
  },
  MIGRATION_FAILED: {
    message: 'The migration {file} failed and was rolled back: {reason}',
    status: 500,
    retryable: false,
  },
  SCHEMA_OUTDATED: {
    message: 'Schema {schema} lacks migrations of {package}: {missing}; run the migrations, then start again',
    status: 503,
    retryable: false,
  },
  SCHEMA_NEWER: {
    message:
      'Schema {schema} has the breaking migration {found} of {package}, which this release does not know; run the newer release everywhere',
    status: 503,
    retryable: false,
  },
});
