import { defineErrors } from '@millrace/foundation';

/** The errors of the server. */
export const ERRORS = defineErrors('server', {
  CONFIG_INVALID: {
    message: 'The configuration cannot be used: {problems}',
    status: 500,
    retryable: false,
  },
  KEYS_REQUIRED: {
    message:
      'HOST is {host}, which others can reach, and there are no API keys. Set MILLRACE_API_KEYS=name:role:secret (role: read, operate or admin; secret: at least 24 characters), or HOST=127.0.0.1',
    status: 500,
    retryable: false,
  },
  APP_INVALID: {
    message: 'The application {file} cannot be used: {reason}',
    status: 500,
    retryable: false,
  },
  BACKEND_UNUSABLE: {
    message: '{backend} at {address} cannot be used: {reason}. Start it, or correct {setting}',
    status: 503,
    retryable: true,
  },
  SERVER_UNREACHABLE: {
    message:
      'No server answers at {url}: {reason}. Start one with `millrace start`, or name another with --url or MILLRACE_URL',
    status: 503,
    retryable: true,
  },
  LISTEN_FAILED: {
    message: 'Cannot listen on {host}:{port}: {reason}',
    status: 500,
    retryable: false,
  },
  SERVICE_NOT_READY: {
    message: '{service} can be used when the server has started, not while the application is being defined',
    status: 500,
    retryable: false,
  },
  UNAUTHENTICATED: {
    message: '{reason}',
    status: 401,
    retryable: false,
  },
  FORBIDDEN: {
    message: 'This needs the role {needed}; the key {key} has the role {role}',
    status: 403,
    retryable: false,
  },
  TENANT_REFUSED: {
    message: 'This belongs to all tenants; the key {key} is limited to the tenant {tenant}',
    status: 403,
    retryable: false,
  },
  ORIGIN_REFUSED: {
    message: 'Requests of other web pages are refused (Origin {origin}); use an API key from your own server',
    status: 403,
    retryable: false,
  },
  HOST_REFUSED: {
    message: 'Without API keys only requests to this machine are answered, not to the host {host}',
    status: 403,
    retryable: false,
  },
  TOO_MANY_REQUESTS: {
    message: 'More than {max} requests in a second (limits.requestsPerSecond); slow down',
    status: 429,
    retryable: true,
  },
  STREAMS_FULL: {
    message: '{streams} streams of events are open, the most there may be ({limit})',
    status: 429,
    retryable: true,
  },
  BODY_TIMEOUT: {
    message: 'The body was not complete after {ms} ms (limits.uploadStallMs)',
    status: 408,
    retryable: true,
  },
  SERVER_STOPPING: {
    message: 'This instance is about to stop; send the request again, to another one',
    status: 503,
    retryable: true,
  },
  JOBS_TOO_MANY: {
    message:
      'The request has more than {max} jobs ({limit}); send them as lines (application/x-ndjson), or in several requests',
    status: 413,
    retryable: false,
  },
  LINE_INVALID: {
    message:
      'Line {line} cannot be taken: {reason}. The {stored} jobs before it are stored, the group is not sealed; send all again with the same ids, or with the same Idempotency-Key',
    status: 422,
    retryable: false,
  },
  UPLOAD_CUT_OFF: {
    message:
      'The body is not complete: {reason}. {stored} jobs of it are stored, the group is not sealed; send all again with the same ids, or with the same Idempotency-Key',
    status: 400,
    retryable: true,
  },
  COUNT_CHANGED: {
    message: '{count} dead letters are selected now, not {expected}; look again, then confirm',
    status: 409,
    retryable: false,
  },
  TENANT_NOT_FOUND: {
    message: 'There is no tenant {tenant}',
    status: 404,
    retryable: false,
  },
  RESULT_PENDING: {
    message: 'Group {group} has no result yet: it is {status}',
    status: 409,
    retryable: true,
  },
  DEMO_REFUSED: {
    message:
      'The demo is not started: it would bring {jobs} jobs, and with those that wait there would be more than {max}; ask for fewer, or wait',
    status: 503,
    retryable: true,
  },
  AUDIT_UNAVAILABLE: {
    message: 'Nothing was changed: who changes what has to be written down first, and that failed; try again',
    status: 503,
    retryable: true,
  },
  INSTANCE_NOT_FOUND: {
    message: 'There is no instance {instance} that runs jobs; known: {known}',
    status: 404,
    retryable: false,
  },
  PAGE_NOT_BUILT: {
    message: 'The page is not built; run `npm run build` in the repository. The API works without it',
    status: 404,
    retryable: false,
  },
});
