import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A text that stays the same as long as the process lives; whoever has it already is told so. */
export class CachedText {
  readonly #contentType: string;
  readonly #make: () => string;
  #made: { readonly text: string; readonly etag: string } | undefined;

  /**
   * @param contentType - of the text.
   * @param make - makes it, when it is first asked for.
   */
  constructor(contentType: string, make: () => string) {
    this.#contentType = contentType;
    this.#make = make;
  }

  /**
   * Answers with the text, or that it has not changed.
   * @param request - what the caller has.
   * @param reply - where to.
   */
  answer(request: FastifyRequest, reply: FastifyReply): string {
    const { text, etag } = this.#read();
    reply.header('etag', etag).header('cache-control', 'no-cache');
    if (namesTag(request.headers['if-none-match'], etag)) {
      reply.status(304);
      return '';
    }
    reply.type(this.#contentType);
    return text;
  }

  #read(): { readonly text: string; readonly etag: string } {
    if (!this.#made) {
      const text = this.#make();
      this.#made = { text, etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"` };
    }
    return this.#made;
  }
}

/** Whether If-None-Match names a tag: proxies that compress make it a weak one. */
const namesTag = (header: string | undefined, etag: string): boolean =>
  header?.split(',').some((one) => one.trim().replace(/^W\//, '') === etag) ?? false;
