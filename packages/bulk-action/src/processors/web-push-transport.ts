import { createECDH, createHash } from 'node:crypto';
import {
  booleanOption,
  type Clock,
  ERRORS as FOUNDATION_ERRORS,
  integerOption,
  type OptionSpec,
  type PartialOptions,
  resolveOptions,
  systemClock,
  textOption,
  toWorkError,
  type WorkContext,
} from '@millrace/foundation';
import { ERRORS } from '../errors.js';
import { AddressGuard, type AddressRules } from './address-guard.js';
import { callFailure } from './call-failure.js';
import type { ProcessorDependencies } from './dependencies.js';
import { GuardedHttp } from './guarded-http.js';
import { fieldInvalid } from './payload-fields.js';
import type { PushNotification, PushSubscription, PushTransport } from './push-transport.js';

/** The settings of a WebPushTransport, complete. */
export interface ResolvedWebPushTransportOptions extends AddressRules {
  /** The VAPID key pair, base64url; `npx web-push generate-vapid-keys` makes one. */
  readonly publicKey: string;
  /** The other half of the pair. */
  readonly privateKey: string;
  /** Whom a push service may write to: a `mailto:` or `https:` address. */
  readonly subject: string;
  /** Seconds that a push service keeps a notification for a device that is offline (28 days). */
  readonly ttlSeconds: number;
  /** True allows plain http endpoints, for a push service of your own in a private network (false). */
  readonly allowHttp: boolean;
}

/** The settings of a WebPushTransport: the keys and the subject have no default. */
export type WebPushTransportOptions = Pick<
  ResolvedWebPushTransportOptions,
  'publicKey' | 'privateKey' | 'subject'
> &
  PartialOptions<ResolvedWebPushTransportOptions>;

/** Loaded with the first notification: most processes send none. */
const loadWebPush = async () => (await import('web-push')).default;
type WebPush = Awaited<ReturnType<typeof loadWebPush>>;

const ENCODING = 'aes128gcm';
/** Of an error's body. */
const BODY_BYTES_MAX = 1024;
const list = { expected: 'a list of texts', accepts: Array.isArray };
const SPEC: OptionSpec<ResolvedWebPushTransportOptions> = {
  owner: 'WebPushTransport',
  // Four weeks: what push services keep at most.
  defaults: { ttlSeconds: 2_419_200, allowHttp: false },
  rules: {
    publicKey: textOption(),
    privateKey: textOption(),
    subject: textOption(),
    ttlSeconds: integerOption({ min: 0 }),
    allowHttp: booleanOption(),
    allowedHosts: list,
    allowedAddresses: list,
  },
};

/** Web Push (RFC 8030) with VAPID (RFC 8292); the notification is encrypted for the browser (RFC 8291). */
export class WebPushTransport implements PushTransport<PushSubscription> {
  readonly #options: ResolvedWebPushTransportOptions;
  readonly #clock: Clock;
  readonly #guard: AddressGuard;
  readonly #http: GuardedHttp;

  /**
   * @param options - see WebPushTransportOptions.
   * @param dependencies - see ProcessorDependencies; nothing is read from the environment.
   * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  constructor(options: WebPushTransportOptions, dependencies: ProcessorDependencies = {}) {
    const resolved = resolveOptions(SPEC, options);
    const wrong = vapidProblem(resolved);
    if (wrong) throw FOUNDATION_ERRORS.create('OPTION_INVALID', { owner: SPEC.owner, ...wrong });
    this.#options = resolved;
    this.#clock = dependencies.clock ?? systemClock;
    this.#guard = new AddressGuard(SPEC.owner, resolved, dependencies.resolve);
    this.#http = new GuardedHttp(this.#guard);
  }

  /**
   * Sends one notification as JSON `{ title, message }`.
   * @param target - the subscription; its endpoint comes from a payload, so the guard decides about it.
   * @param notification - what to show.
   * @param context - see WorkContext.
   * @throws MillraceError `PUSH_GONE`, `ADDRESS_REFUSED`, `FIELD_INVALID`, `CALL_REFUSED` (all final), `CALL_FAILED`,
   * `RATE_LIMITED`.
   */
  async send(target: PushSubscription, notification: PushNotification, context: WorkContext): Promise<void> {
    const protocols = this.#options.allowHttp ? ['https:', 'http:'] : ['https:'];
    const url = new URL(target.endpoint);
    // Before anything is signed for it.
    this.#guard.checkUrl(url, protocols);
    const { title, message } = notification;
    const webPush = await loadWebPush();
    const body = encrypted(webPush, target, JSON.stringify({ title, message }));
    const answer = await this.#http.request(
      { method: 'POST', url, headers: this.#headers(webPush, url, context), body },
      { protocols, bodyBytesMax: BODY_BYTES_MAX, signal: context.signal },
    );
    const { status } = answer;
    if (status >= 200 && status <= 299) return;
    if (status === 404 || status === 410) throw ERRORS.create('PUSH_GONE', { host: url.host, status });
    throw callFailure(url.host, answer, this.#clock.now());
  }

  /** Ends every connection. */
  close(): Promise<void> {
    return this.#http.close();
  }

  #headers(webPush: WebPush, url: URL, { idempotencyKey }: WorkContext): Record<string, string> {
    const { subject, publicKey, privateKey, ttlSeconds } = this.#options;
    const vapid = webPush.getVapidHeaders(url.origin, subject, publicKey, privateKey, ENCODING);
    return {
      authorization: vapid.Authorization,
      'content-encoding': ENCODING,
      'content-type': 'application/octet-stream',
      ttl: String(ttlSeconds),
      urgency: 'normal',
      // A repeat after a lost answer replaces the first one while the device is away, instead of standing beside it.
      topic: createHash('sha256').update(idempotencyKey).digest('base64url').slice(0, 32),
    };
  }
}

function encrypted(webPush: WebPush, { keys }: PushSubscription, text: string): Buffer {
  try {
    return webPush.encrypt(keys.p256dh, keys.auth, text, ENCODING).cipherText;
  } catch (error) {
    // The text is ours: only the keys can be wrong, and they will be so next time.
    throw fieldInvalid('subscription.keys', 'the keys of a browser', toWorkError(error).message);
  }
}

/**
 * What is wrong with a VAPID identity, if anything: tried out, since a wrong one shows only in a service's 403.
 * @param vapid - key pair and subject.
 */
export function vapidProblem(vapid: {
  readonly publicKey: string | undefined;
  readonly privateKey: string | undefined;
  readonly subject: string | undefined;
}): { readonly option: 'publicKey' | 'privateKey' | 'subject'; expected: string; given: string } | undefined {
  const { publicKey = '', privateKey = '', subject = '' } = vapid;
  const { protocol = '' } = URL.canParse(subject) ? new URL(subject) : {};
  if (protocol !== 'mailto:' && protocol !== 'https:')
    return { option: 'subject', expected: 'a mailto: or https: address', given: subject };
  const secret = Buffer.from(privateKey, 'base64url');
  if (!/^[\w-]+$/.test(privateKey) || secret.byteLength !== 32)
    return {
      option: 'privateKey',
      expected: 'a VAPID private key (32 bytes, base64url)',
      given: '(not shown)',
    };
  const pair = createECDH('prime256v1');
  try {
    pair.setPrivateKey(secret);
  } catch {
    return { option: 'privateKey', expected: 'a key of the curve P-256', given: '(not shown)' };
  }
  if (pair.getPublicKey('base64url') === publicKey) return undefined;
  return { option: 'publicKey', expected: 'the public key of the private one, base64url', given: publicKey };
}
