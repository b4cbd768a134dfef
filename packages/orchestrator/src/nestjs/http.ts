import type { EventEmitter } from 'node:events';

/** What is used of a request, on Fastify and on Express. */
export interface HttpRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly url: string;
  readonly originalUrl?: string | undefined;
}

/** What is used of a reply, on Fastify and on Express. */
export interface HttpReply {
  status(code: number): unknown;
  header(name: string, value: string): unknown;
  send(body: string): unknown;
  /** Node's own response; on Express it is the reply itself. */
  readonly raw?: HttpResponse | undefined;
}

/** What is used of Node's response. */
export interface HttpResponse extends Pick<EventEmitter, 'once'> {
  readonly headersSent: boolean;
  readonly destroyed: boolean;
}

/** The one value of a header. */
export function headerOf({ headers }: HttpRequest, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' || value === undefined ? value : value.join(', ');
}

/** The path that was asked for, without its query and without a slash at the end. */
export function pathOf({ originalUrl, url }: HttpRequest): string {
  const path = (originalUrl ?? url).replace(/[?#].*$/s, '');
  let end = path.length;
  // Not by a pattern: that would begin anew at each of the 16,000 slashes that a path may have.
  while (path[end - 1] === '/') end--;
  return path.slice(0, end);
}

/** Node's own response behind a reply. */
export const responseOf = (reply: HttpReply): HttpResponse => reply.raw ?? (reply as unknown as HttpResponse);

/** A signal that aborts when the connection of a request is closed, or it has been answered. */
export function goneSignal(reply: HttpReply): AbortSignal {
  const gone = new AbortController();
  // Not the request: that one closes when its body has been read.
  const response = responseOf(reply);
  if (response.destroyed) gone.abort();
  else response.once('close', () => gone.abort());
  return gone.signal;
}
