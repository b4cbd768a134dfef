/** Names and help texts of what the server counts of itself. */
export const METRICS = {
  requests: {
    name: 'http_requests_total',
    help: 'Requests, by method, id of the route and status; 499: the caller went before the answer.',
  },
  requestDuration: {
    name: 'http_request_duration_ms',
    help: 'How long answers took, in milliseconds, by id of the route; streams are not in it.',
  },
  requestsOpen: {
    name: 'http_requests_open',
    help: 'Requests that are being answered, streams too; those that need no key are not counted.',
  },
  streams: { name: 'sse_clients', help: 'Streams of events that are open.' },
  streamsDropped: {
    name: 'sse_clients_dropped_total',
    help: 'Clients of streams that were dropped because they did not read.',
  },
  info: { name: 'millrace_info', help: 'Always 1; the labels tell what runs here.' },
  chatTasks: { name: 'chat_tasks', help: 'Turns of chats in this process, by state.' },
  chatLanes: { name: 'chat_lanes', help: 'Sessions of chats with a turn in this process.' },
} as const;

/** From one millisecond to longer than any budget; the longest budgets are 5 and 30 seconds. */
export const REQUEST_BUCKETS_MS: readonly number[] = [
  1, 2, 5, 10, 25, 50, 100, 200, 300, 500, 1_000, 2_500, 5_000, 10_000, 30_000,
];
