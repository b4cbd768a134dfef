import {
  type Clock,
  integerOption,
  type OptionSpec,
  type PartialOptions,
  resolveOptions,
  systemClock,
  textOption,
} from '@millrace/foundation';
import { ERRORS } from '../errors.js';
import type { Job, JobContext, JobProcessor } from '../processor.js';
import { AddressGuard, type AddressRules } from './address-guard.js';
import { callFailure } from './call-failure.js';
import type { ProcessorDependencies } from './dependencies.js';
import { listFrom } from './environment.js';
import { GuardedHttp, type HttpAnswer, type HttpCall } from './guarded-http.js';
import { type HttpRequestPayload, readHttpRequest } from './http-payload.js';
import { redirected } from './redirect.js';

/** The settings of an HttpRequestProcessor, complete. */
export interface ResolvedHttpRequestProcessorOptions extends AddressRules {
  /** The type of its jobs (`'HTTP_REQUEST'`). A second processor, for a service with limits of its own, needs another type. */
  readonly type: string;
  /** Redirects to follow, at most 20 (5); 0 follows none. */
  readonly redirectsMax: number;
  /** Bytes of a response body to read (8192). */
  readonly bodyBytesMax: number;
}

/** The settings of an HttpRequestProcessor; every one has a default. */
export type HttpRequestProcessorOptions = PartialOptions<ResolvedHttpRequestProcessorOptions>;

/** What an `HTTP_REQUEST` that succeeded leaves. */
export interface HttpRequestResult {
  /** 200 to 299. */
  readonly status: number;
  /** The start of the answer's body, read as UTF-8. */
  readonly body: string;
  /** Whether there was more of it. */
  readonly truncated: boolean;
  /** `content-type` of the answer, '' if it had none. */
  readonly contentType: string;
}

const PROTOCOLS = ['http:', 'https:'] as const;
const list = { expected: 'a list of texts', accepts: Array.isArray };
const SPEC: OptionSpec<ResolvedHttpRequestProcessorOptions> = {
  owner: 'HttpRequestProcessor',
  // A result of this size fits into limits.resultBytesMax (16 KiB) with room for what JSON escapes.
  defaults: { type: 'HTTP_REQUEST', redirectsMax: 5, bodyBytesMax: 8192 },
  rules: {
    type: textOption(),
    allowedHosts: list,
    allowedAddresses: list,
    redirectsMax: integerOption({ min: 0, max: 20 }),
    bodyBytesMax: integerOption({ min: 0 }),
  },
};

/**
 * Runs `HTTP_REQUEST`: calls an address for the job. Addresses that are not public are refused unless allowed, at every
 * redirect again. 429 and 503 are congestion.
 */
export class HttpRequestProcessor implements JobProcessor<HttpRequestPayload, HttpRequestResult> {
  readonly type: string;
  readonly #options: ResolvedHttpRequestProcessorOptions;
  readonly #clock: Clock;
  readonly #http: GuardedHttp;

  /**
   * @param options - see HttpRequestProcessorOptions; the two lists default to the environment's
   * `HTTP_REQUEST_ALLOWED_HOSTS` and `HTTP_REQUEST_ALLOWED_ADDRESSES`.
   * @param dependencies - see ProcessorDependencies.
   * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  constructor(options: HttpRequestProcessorOptions = {}, dependencies: ProcessorDependencies = {}) {
    const { env = process.env, clock = systemClock, resolve } = dependencies;
    this.#options = resolveOptions(SPEC, options);
    this.type = this.#options.type;
    const {
      allowedHosts = listFrom(env, 'HTTP_REQUEST_ALLOWED_HOSTS'),
      allowedAddresses = listFrom(env, 'HTTP_REQUEST_ALLOWED_ADDRESSES'),
    } = this.#options;
    this.#clock = clock;
    this.#http = new GuardedHttp(new AddressGuard(SPEC.owner, { allowedHosts, allowedAddresses }, resolve));
  }

  /**
   * Makes the request; the job's idempotency key goes along as `Idempotency-Key` unless the payload has its own.
   * @param job - its payload is an HttpRequestPayload.
   * @param context - see JobContext.
   * @throws MillraceError `FIELD_INVALID`, `FIELD_UNKNOWN`, `ADDRESS_REFUSED`, `CALL_REFUSED` (all final), `CALL_FAILED`,
   * `RATE_LIMITED`.
   */
  async process(job: Job<HttpRequestPayload>, context: JobContext): Promise<HttpRequestResult> {
    const request = readHttpRequest(this.type, job.payload);
    // Some services refuse a caller without a name.
    const own = { 'user-agent': 'millrace', 'idempotency-key': context.idempotencyKey };
    const headers = { ...own, ...request.headers };
    const { call, answer } = await this.#follow({ ...request, headers }, context.signal);
    const { status, body, truncated } = answer;
    if (status < 200 || status > 299) throw callFailure(call.url.host, answer, this.#clock.now());
    return { status, body, truncated, contentType: answer.headers['content-type'] ?? '' };
  }

  /** Ends every connection. */
  close(): Promise<void> {
    return this.#http.close();
  }

  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #follow(
    first: HttpCall,
    signal: AbortSignal,
  ): Promise<{ readonly call: HttpCall; readonly answer: HttpAnswer }> {
    const { redirectsMax, bodyBytesMax } = this.#options;
    let call = first;
    for (let redirects = 0; ; redirects++) {
      const answer = await this.#http.request(call, { protocols: PROTOCOLS, bodyBytesMax, signal });
      const next = redirected(call, answer);
      if (!next || redirectsMax === 0) return { call, answer };
      if (redirects === redirectsMax) {
        const reason = `it answered more than ${redirectsMax} redirects`;
        throw ERRORS.create('CALL_REFUSED', { host: call.url.host, reason });
      }
      call = next;
    }
  }
}
