/**
 * The views of the page by id: where each is. `{name}` stands for a parameter, escaped as in any address. The server answers each with the
 * same page, so that a view can be reloaded and sent to somebody.
 */
export const VIEWS = {
  overview: '/',
  groups: '/groups',
  group: '/groups/{groupId}',
  jobs: '/groups/{groupId}/jobs',
  job: '/groups/{groupId}/jobs/{jobId}',
  deadLetters: '/dead-letters',
  batches: '/batches',
  batch: '/batches/{batchId}',
  operations: '/operations',
  operation: '/operations/{opId}',
  congestion: '/congestion',
  chat: '/chat',
  chatSession: '/chat/{sessionId}',
  workers: '/workers',
} as const satisfies Readonly<Record<string, string>>;

/** The id of a view. */
export type ViewId = keyof typeof VIEWS;
