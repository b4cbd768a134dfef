import type { WorkContext } from '@millrace/foundation';

/** A browser's subscription, as `PushManager.subscribe()` gives it. */
export interface PushSubscription {
  /** Where its push service listens. */
  readonly endpoint: string;
  readonly keys: {
    /** The browser's public key, base64url. */
    readonly p256dh: string;
    /** The secret shared with the browser, base64url. */
    readonly auth: string;
  };
}

/** What the user sees. */
export interface PushNotification {
  readonly title: string;
  readonly message: string;
}

/**
 * Hands notifications to a push service: the port that an application implements for FCM, APNs and the like.
 *
 * What it throws decides: `NonRetryableError` when the target does not exist any more, `RateLimitedError` when the
 * service asks for patience; anything else is tried again.
 */
export interface PushTransport<Target> {
  /**
   * Sends one notification; resolves only when the service has accepted it.
   * @param target - a subscription or a device token.
   * @param notification - what to show.
   * @param context - `signal` to stop at, `idempotencyKey` for services that recognise a repeat.
   */
  send(target: Target, notification: PushNotification, context: WorkContext): Promise<void>;
  /** Frees what it holds. */
  close?(): Promise<void>;
}
