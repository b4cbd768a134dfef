import { type HttpResponse, type HttpRoute, PROBLEM_CONTENT_TYPE, Problem } from '@millrace/contract';

/** What a route can answer: what its row says, and what everything that stands before all routes may. */
export function answersOf(route: HttpRoute): Readonly<Record<string, HttpResponse>> {
  const common = Object.entries(commonProblems(route)).map(([status, description]) => [
    status,
    { description, contentType: PROBLEM_CONTENT_TYPE, schema: Problem },
  ]);
  return { ...Object.fromEntries(common), ...route.answers };
}

function commonProblems({ role, tenancy, body, streams }: HttpRoute): Record<number, string> {
  const needsKey = role !== 'none' && {
    401: 'UNAUTHENTICATED: there is no key, or it is unknown.',
    403:
      `FORBIDDEN: the key has not the role ${role}.` +
      (tenancy === 'shared' ? ' TENANT_REFUSED: the key is limited to one tenant.' : ''),
    429:
      'TOO_MANY_REQUESTS of one key in a second.' +
      (streams ? ' STREAMS_FULL: too many streams are open.' : ''),
    503: 'SERVER_STOPPING: send it again, to another instance.',
  };
  const hasBody = body && {
    408: 'BODY_TIMEOUT: the body was not complete after limits.uploadStallMs.',
    413: 'The body is larger than limits.bodyBytesMax.',
    415: 'The body is of a type that this route does not take.',
  };
  return { ...needsKey, ...hasBody };
}
