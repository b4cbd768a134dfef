import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** An answer as it goes out. */
interface Form {
  readonly body: Buffer;
  readonly etag: string;
}

/** The same answer for those who cannot unpack it, and for those who can where that saves something. */
interface Forms {
  readonly plain: Form;
  readonly packed: Form | undefined;
}

/** What packing leaves must be smaller than this part, or unpacking is for nothing: fonts are packed already. */
const WORTH_PACKING = 0.9;

/** What a kept answer says of itself. */
export interface KeptAnswerOptions {
  readonly contentType: string;
  /** How others may keep it; unless given, they have to ask each time whether it is still the same. */
  readonly cacheControl?: string | undefined;
}

/**
 * An answer that stays the same as long as the process lives: made once, sent packed to whoever can unpack it, and not again to
 * whoever has it already.
 */
export class KeptAnswer {
  readonly #contentType: string;
  readonly #cacheControl: string;
  readonly #make: () => string | Buffer;
  #forms: Promise<Forms> | undefined;

  /** @param make - makes it, when it is first asked for. */
  constructor({ contentType, cacheControl = 'no-cache' }: KeptAnswerOptions, make: () => string | Buffer) {
    this.#contentType = contentType;
    this.#cacheControl = cacheControl;
    this.#make = make;
  }

  /** Answers with it, or that it has not changed. */
  async answer(request: FastifyRequest, reply: FastifyReply): Promise<Buffer | ''> {
    const { plain, packed } = await this.#read();
    const isPacked = packed !== undefined && takesGzip(request.headers['accept-encoding']);
    const { body, etag } = isPacked ? packed : plain;
    reply.header('etag', etag).header('cache-control', this.#cacheControl);
    if (packed) reply.header('vary', 'accept-encoding');
    if (namesTag(request.headers['if-none-match'], etag)) {
      reply.status(304);
      return '';
    }
    if (isPacked) reply.header('content-encoding', 'gzip');
    reply.type(this.#contentType);
    return body;
  }

  #read(): Promise<Forms> {
    this.#forms ??= formsOf(this.#make).catch((error: unknown) => {
      // Whoever asks next may have more luck.
      this.#forms = undefined;
      throw error;
    });
    return this.#forms;
  }
}

async function formsOf(make: () => string | Buffer): Promise<Forms> {
  const plain = Buffer.from(make());
  const packed = await promisify(gzip)(plain, { level: constants.Z_BEST_COMPRESSION });
  const tag = createHash('sha256').update(plain).digest('base64url').slice(0, 22);
  return {
    plain: { body: plain, etag: `"${tag}"` },
    // Two forms, two tags: a cache must not continue one with a part of the other.
    packed:
      packed.length < plain.length * WORTH_PACKING ? { body: packed, etag: `"${tag}-gzip"` } : undefined,
  };
}

/** Whether Accept-Encoding has gzip, and not as `gzip;q=0`. */
const takesGzip = (header: string | string[] | undefined): boolean =>
  `${header ?? ''}`.split(',').some((one) => /^\s*gzip\s*(;\s*q=(1|0\.\d*[1-9])\S*\s*)?$/i.test(one));

/** Whether If-None-Match names a tag: proxies that compress make it a weak one. */
const namesTag = (header: string | undefined, etag: string): boolean =>
  header?.split(',').some((one) => one.trim().replace(/^W\//, '') === etag) ?? false;
