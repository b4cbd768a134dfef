import { type OptionSpec, objectOption, resolveOptions, type WorkContext } from '@millrace/foundation';
import type { Job, JobContext, JobProcessor } from '../processor.js';
import type { Environment, ProcessorDependencies } from './dependencies.js';
import { environmentInvalid } from './environment.js';
import { fieldInvalid, fieldsOf, isRecord, type PayloadFields, textField } from './payload-fields.js';
import type { PushNotification, PushSubscription, PushTransport } from './push-transport.js';
import { vapidProblem, WebPushTransport } from './web-push-transport.js';

/** The payload of a `PUSH_NOTIFICATION`: to a browser's subscription or to a device. */
export type PushNotificationPayload = PushNotification &
  ({ readonly subscription: PushSubscription } | { readonly deviceToken: string });

/** What a `PUSH_NOTIFICATION` leaves; `delivered` says whether a push service has accepted it. */
export type PushNotificationResult = { readonly title: string; readonly delivered: boolean } & (
  | { readonly endpoint: string }
  | { readonly deviceToken: string }
);

/** The settings of a PushNotificationProcessor; both may be left out. */
export interface PushNotificationProcessorOptions {
  /** Serves browsers (Web Push with the environment's `VAPID_*`, if they are set). */
  readonly subscriptions?: PushTransport<PushSubscription> | undefined;
  /** Serves devices: FCM, APNs; supplied by the application. */
  readonly deviceTokens?: PushTransport<string> | undefined;
}

/** RFC 8291, 4: a push service need not take more than this many bytes of text. FCM and APNs take about as much. */
const NOTIFICATION_BYTES_MAX = 3993;
const DEVICE_TOKEN_CHARACTERS_MAX = 4096;
const ENDPOINT_CHARACTERS_MAX = 4096;
const KEY_CHARACTERS_MAX = 200;

const transport = objectOption('a PushTransport', 'send');
const SPEC: OptionSpec<PushNotificationProcessorOptions> = {
  owner: 'PushNotificationProcessor',
  defaults: {},
  rules: { subscriptions: transport, deviceTokens: transport },
};

/**
 * Runs `PUSH_NOTIFICATION`. Where nothing is configured for the kind of target it checks the payload and says
 * `delivered: false`.
 */
export class PushNotificationProcessor
  implements JobProcessor<PushNotificationPayload, PushNotificationResult>
{
  readonly type = 'PUSH_NOTIFICATION';
  readonly #subscriptions: PushTransport<PushSubscription> | undefined;
  readonly #deviceTokens: PushTransport<string> | undefined;

  /**
   * @param options - see PushNotificationProcessorOptions.
   * @param dependencies - see ProcessorDependencies.
   * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `ENVIRONMENT_INVALID`.
   */
  constructor(options: PushNotificationProcessorOptions = {}, dependencies: ProcessorDependencies = {}) {
    const { subscriptions, deviceTokens } = resolveOptions(SPEC, options);
    this.#subscriptions = subscriptions ?? webPushFrom(dependencies.env ?? process.env, dependencies);
    this.#deviceTokens = deviceTokens;
  }

  /**
   * Sends the notification.
   * @param job - its payload is a PushNotificationPayload.
   * @param context - see JobContext.
   * @throws MillraceError `FIELD_INVALID`, `FIELD_UNKNOWN`; whatever the transport throws.
   */
  async process(job: Job<PushNotificationPayload>, context: JobContext): Promise<PushNotificationResult> {
    const fields = fieldsOf(this.type, job.payload, ['subscription', 'deviceToken', 'title', 'message']);
    const notification = readNotification(fields);
    const { title } = notification;
    if (fields.subscription === undefined) {
      const deviceToken = readDeviceToken(fields);
      const delivered = await sendBy(this.#deviceTokens, deviceToken, notification, context);
      return { deviceToken, title, delivered };
    }
    if (fields.deviceToken !== undefined)
      throw fieldInvalid('deviceToken', 'left out where there is a subscription', fields.deviceToken);
    const subscription = readSubscription(fields.subscription);
    const delivered = await sendBy(this.#subscriptions, subscription, notification, context);
    return { endpoint: subscription.endpoint, title, delivered };
  }

  /** Closes the transports. */
  async close(): Promise<void> {
    await Promise.all([this.#subscriptions?.close?.(), this.#deviceTokens?.close?.()]);
  }

  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

async function sendBy<T>(
  by: PushTransport<T> | undefined,
  target: T,
  notification: PushNotification,
  context: WorkContext,
): Promise<boolean> {
  await by?.send(target, notification, context);
  return by !== undefined;
}

function webPushFrom(env: Environment, dependencies: ProcessorDependencies): WebPushTransport | undefined {
  const {
    VAPID_PUBLIC_KEY: publicKey = '',
    VAPID_PRIVATE_KEY: privateKey = '',
    VAPID_SUBJECT: subject = '',
  } = env;
  if (publicKey === '' && privateKey === '' && subject === '') return undefined;
  const wrong = vapidProblem({ publicKey, privateKey, subject });
  if (wrong) throw environmentInvalid(VARIABLES[wrong.option], wrong.expected, wrong.given);
  return new WebPushTransport({ publicKey, privateKey, subject }, dependencies);
}

const VARIABLES = {
  publicKey: 'VAPID_PUBLIC_KEY',
  privateKey: 'VAPID_PRIVATE_KEY',
  subject: 'VAPID_SUBJECT',
} as const;

function readNotification(fields: PayloadFields): PushNotification {
  const title = textField(fields, 'title', NOTIFICATION_BYTES_MAX);
  const message = textField(fields, 'message', NOTIFICATION_BYTES_MAX);
  const bytes = Buffer.byteLength(JSON.stringify({ title, message }));
  if (bytes <= NOTIFICATION_BYTES_MAX) return { title, message };
  const expected = `at most ${NOTIFICATION_BYTES_MAX} bytes of JSON together with the title`;
  throw fieldInvalid('message', expected, `${bytes} bytes`);
}

function readDeviceToken(fields: PayloadFields): string {
  if (fields.deviceToken === undefined)
    throw fieldInvalid('subscription', 'given, unless there is a deviceToken', undefined);
  const token = textField(fields, 'deviceToken', DEVICE_TOKEN_CHARACTERS_MAX);
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw fieldInvalid('deviceToken', 'printable characters without spaces', token);
}

/** Browsers add `expirationTime` and may add more: what is not needed is left behind. */
function readSubscription(given: unknown): PushSubscription {
  if (!isRecord(given) || !isRecord(given.keys))
    throw fieldInvalid('subscription', 'what PushManager.subscribe() gave: { endpoint, keys }', given);
  const endpoint = textField(given, 'endpoint', ENDPOINT_CHARACTERS_MAX, 'subscription.endpoint');
  if (!URL.canParse(endpoint)) throw fieldInvalid('subscription.endpoint', 'a whole https address', endpoint);
  const p256dh = textField(given.keys, 'p256dh', KEY_CHARACTERS_MAX, 'subscription.keys.p256dh');
  const auth = textField(given.keys, 'auth', KEY_CHARACTERS_MAX, 'subscription.keys.auth');
  return { endpoint, keys: { p256dh, auth } };
}
