import { defineErrors } from '@millrace/foundation';

/** The errors of this package. Errors that PostgreSQL reports are thrown unchanged, with their SQLSTATE. */
export const ERRORS = defineErrors('postgres', {
  BACKEND_UNAVAILABLE: {
    message: 'PostgreSQL failed at {operation}: {reason}; try again later',
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
      'The reply to COMMIT was lost and transaction {xid} may have committed; call transactionOutcome before you repeat it',
    status: 503,
    retryable: false,
  },
  TX_TIMEOUT: {
    message: 'The transaction took longer than {timeoutMs} ms and was rolled back',
    status: 504,
    retryable: true,
  },
  TX_CLOSED: {
    message:
      'The transaction has ended ({reason}) and its tx is closed; await every query before the function returns',
    status: 500,
    retryable: false,
  },
  TX_REENTRANT: {
    message: '{call} was called inside a transaction and would {consequence}; use {instead}',
    status: 500,
    retryable: false,
  },
  TX_ROLLED_BACK: {
    message:
      'PostgreSQL rolled the transaction back because a statement failed and its error was swallowed; throw the error, or run the statement in tx.transaction',
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
  STATEMENT_INVALID: {
    message: 'The statement {name} in {folder} cannot be used: {reason}',
    status: 500,
    retryable: false,
  },
  DRIVER_MISSING: {
    message: 'The package {library} is not installed; run npm install {library}',
    status: 500,
    retryable: false,
  },
  DATABASE_VERSION_UNSUPPORTED: {
    message: 'PostgreSQL {found} is too old; use version 14 or later',
    status: 500,
    retryable: false,
  },
  DATABASE_IN_USE: {
    message:
      'The database in {directory} is open in process {pid} on {host}; stop that process, or use PostgreSQL (DATABASE_URL)',
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
      'The migration {file} has changed since it was applied to schema {schema}; restore it and add a new file',
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
