import type { EventEmitter } from 'node:events';

/** The used part of a request, on Fastify and on Express. */
export interface HttpRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly url: string;
  readonly originalUrl?: string | undefined;
}

/** The used part of a reply, on Fastify and on Express. */
export interface HttpReply {
  status(code: number): unknown;
  header(name: string, value: string): unknown;
  send(body: string): unknown;
  /** Node's response. On Express it is the reply itself. */
  readonly raw?: HttpResponse | undefined;
}

/** The used part of Node's response. */
export interface HttpResponse extends Pick<EventEmitter, 'once'> {
  readonly headersSent: boolean;
  readonly destroyed: boolean;
}

/** Returns a header as one value. */
export function headerOf({ headers }: HttpRequest, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' || value === undefined ? value : value.join(', ');
}

/** Returns the path of a request, without its query and without slashes at the end. */
export function pathOf({ originalUrl, url }: HttpRequest): string {
  const path = (originalUrl ?? url).replace(/[?#].*$/s, '');
  let end = path.length;
  // No pattern: it would start again at each of the 16,000 slashes that a path may have.
  while (path[end - 1] === '/') end--;
  return path.slice(0, end);
}

/** Returns Node's response behind a reply. */
export const responseOf = (reply: HttpReply): HttpResponse => reply.raw ?? (reply as unknown as HttpResponse);

/** Makes a signal that aborts when the connection is closed or the request is answered. */
export function goneSignal(reply: HttpReply): AbortSignal {
  const gone = new AbortController();
  // Not the request, which closes when its body has been read.
  const response = responseOf(reply);
  if (response.destroyed) gone.abort();
  else response.once('close', () => gone.abort());
  return gone.signal;
}
