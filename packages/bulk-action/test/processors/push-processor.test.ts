import { NonRetryableError, RateLimitedError, type WorkContext } from '@millrace/foundation';
import { latch, ManualClock, until } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import webPush from 'web-push';
import {
  PushNotificationProcessor,
  type PushTransport,
  WebPushTransport,
  type WebPushTransportOptions,
} from '../../src/processors/index.js';
import { startWebServer } from './http-server.js';
import { Browser, readVapid } from './push-service.js';
import { failureOf, tryJob } from './try-job.js';

const KEYS = webPush.generateVAPIDKeys();
const VAPID = { ...KEYS, subject: 'mailto:ops@example.com' };
const NOTE = { title: 'Parcel', message: 'It is on its way ✓' };
const REFUSED = { code: 'ADDRESS_REFUSED', retryable: false };

/** A processor whose push service is on loopback. */
const pusher = (options: Partial<WebPushTransportOptions> = {}, clock = new ManualClock()) => {
  const local = { allowHttp: true, allowedAddresses: ['127.0.0.1'] };
  const subscriptions = new WebPushTransport({ ...VAPID, ...local, ...options }, { clock });
  return new PushNotificationProcessor({ subscriptions }, { env: {} });
};

describe('bulk-action BA-17: PUSH_NOTIFICATION by Web Push', () => {
  it('bulk-action BA-17: the browser can read it and the push service can tell who sends it', async () => {
    await using service = await startWebServer((response) => response.writeHead(201).end());
    await using push = pusher({ ttlSeconds: 60 });
    const browser = new Browser();
    const subscription = { ...browser.subscription(`${service.origin}/p/1`), expirationTime: null };
    const result = await tryJob(push, { subscription, ...NOTE }, { key: 'g:1' });
    const endpoint = `${service.origin}/p/1`;
    expect(result).toStrictEqual({ endpoint, title: 'Parcel', delivered: true });
    const [request] = service.requests;
    expect(request).toMatchObject({ method: 'POST', path: '/p/1' });
    expect(request?.headers).toMatchObject({ ttl: '60', urgency: 'normal', 'content-encoding': 'aes128gcm' });
    expect(browser.read(request?.body ?? Buffer.alloc(0))).toEqual(NOTE);
    const { key, claims } = readVapid(request?.headers.authorization ?? '');
    expect(key).toBe(KEYS.publicKey);
    expect(claims).toMatchObject({ aud: service.origin, sub: VAPID.subject });
    const secondsLeft = Number(claims.exp) - Date.now() / 1000;
    expect(secondsLeft).toBeGreaterThan(0);
    expect(secondsLeft).toBeLessThanOrEqual(86_400);
  });

  it('bulk-action BA-17: a repeat replaces what waits at the push service, another job does not', async () => {
    await using service = await startWebServer((response) => response.writeHead(201).end());
    await using push = pusher();
    const subscription = new Browser().subscription(service.origin);
    for (const key of ['g:1', 'g:1', 'g:2']) await tryJob(push, { subscription, ...NOTE }, { key });
    const [first, again, other] = service.requests.map(({ headers }) => headers.topic);
    expect(first).toMatch(/^[\w-]{32}$/);
    expect(again).toBe(first);
    expect(other).not.toBe(first);
  });

  it('bulk-action BA-17: gone, refused, tried again, or congestion, by status', async () => {
    let status = 0;
    await using service = await startWebServer((response) =>
      response.writeHead(status, { 'retry-after': '30', location: '/elsewhere' }).end('because'),
    );
    await using push = pusher();
    const subscription = new Browser().subscription(service.origin);
    const expected = {
      PUSH_GONE: [404, 410],
      RATE_LIMITED: [429, 503],
      CALL_FAILED: [408, 500, 502, 504],
      CALL_REFUSED: [302, 307, 400, 401, 403, 413],
    };
    for (const [code, statuses] of Object.entries(expected)) {
      const retryable = code === 'RATE_LIMITED' || code === 'CALL_FAILED';
      for (status of statuses) {
        const failure = await failureOf(tryJob(push, { subscription, ...NOTE }), status);
        expect(failure, String(status)).toMatchObject({ code, retryable });
        expect(failure.message).toContain(String(status));
        if (retryable) expect(failure.retryAfterMs).toBe(30_000);
      }
    }
    expect(service.requests.every(({ path }) => path === '/')).toBe(true);
  });

  it('bulk-action BA-3: Retry-After may be a date', async () => {
    const date = 'Fri, 01 May 2026 12:01:00 GMT';
    await using service = await startWebServer((response) =>
      response.writeHead(429, { 'retry-after': date }).end(),
    );
    await using push = pusher({}, new ManualClock({ now: Date.UTC(2026, 4, 1, 12) }));
    const subscription = new Browser().subscription(service.origin);
    expect(await failureOf(tryJob(push, { subscription, ...NOTE }))).toMatchObject({
      code: 'RATE_LIMITED',
      retryAfterMs: 60_000,
    });
  });

  it('bulk-action BA-17: an endpoint comes from a payload, so only public https ones are called', async () => {
    await using service = await startWebServer();
    const { port } = service;
    const browser = new Browser();
    const attempt = (push: PushNotificationProcessor, endpoint: string) =>
      failureOf(tryJob(push, { subscription: browser.subscription(endpoint), ...NOTE }), endpoint);
    await using strict = pusher({ allowHttp: false, allowedAddresses: undefined });
    for (const endpoint of [
      `http://127.0.0.1:${port}`,
      `https://127.0.0.1:${port}`,
      `https://localhost:${port}`,
      'https://169.254.169.254/',
      'https://[::1]/',
      'http://push.example.com/',
      'https://user:pw@push.example.com/',
      'file:///etc/passwd',
    ])
      expect(await attempt(strict, endpoint), endpoint).toMatchObject(REFUSED);
    await using listed = pusher({ allowedHosts: ['*.push.example.com'] });
    expect(await attempt(listed, service.origin)).toMatchObject(REFUSED);
    expect(service.connections).toBe(0);
  });

  it('bulk-action BA-17: a service that is away is tried again, and an aborted try ends', async () => {
    const arrived = latch('the request has arrived');
    await using service = await startWebServer(() => arrived.open());
    await using push = pusher();
    const subscription = new Browser().subscription(service.origin);
    const controller = new AbortController();
    const attempt = failureOf(tryJob(push, { subscription, ...NOTE }, { signal: controller.signal }));
    await arrived.wait();
    controller.abort(new Error('timed out'));
    expect((await attempt).message).toBe('timed out');
    await until(() => service.open === 0, { what: 'the connection to end' });
    // A port that nobody listens on.
    const away = { subscription: new Browser().subscription('http://127.0.0.1:1/'), ...NOTE };
    expect(await failureOf(tryJob(push, away))).toMatchObject({ code: 'CALL_FAILED', retryable: true });
  });
});

describe('bulk-action BA-17: PUSH_NOTIFICATION with other transports, or none', () => {
  const subscription = new Browser().subscription('https://push.example.com/1');

  it('bulk-action BA-17: where nothing is configured it says that nothing was delivered', async () => {
    await using push = new PushNotificationProcessor({}, { env: {} });
    expect(await tryJob(push, { subscription, ...NOTE })).toStrictEqual({
      endpoint: 'https://push.example.com/1',
      title: 'Parcel',
      delivered: false,
    });
    const byToken = { deviceToken: 'abc', title: 'Parcel', delivered: false };
    expect(await tryJob(push, { deviceToken: 'abc', ...NOTE })).toStrictEqual(byToken);
    // Web Push alone serves no devices.
    await using web = pusher();
    expect(await tryJob(web, { deviceToken: 'abc', ...NOTE })).toStrictEqual(byToken);
  });

  it("bulk-action BA-17: a device token goes to the application's transport, and what that throws decides", async () => {
    const sent: unknown[] = [];
    let closed = 0;
    let refuse: Error | undefined;
    const deviceTokens: PushTransport<string> = {
      async send(target, notification, context: WorkContext) {
        if (refuse) throw refuse;
        sent.push([target, notification, context.idempotencyKey]);
      },
      async close() {
        closed += 1;
      },
    };
    const push = new PushNotificationProcessor({ deviceTokens }, { env: {} });
    const job = { deviceToken: 'abc', ...NOTE };
    expect(await tryJob(push, job, { key: 'k' })).toStrictEqual({
      deviceToken: 'abc',
      title: 'Parcel',
      delivered: true,
    });
    expect(sent).toEqual([['abc', NOTE, 'k']]);
    expect(await tryJob(push, { subscription, ...NOTE })).toMatchObject({ delivered: false });
    refuse = new NonRetryableError('no such device');
    expect(await failureOf(tryJob(push, job))).toBe(refuse);
    refuse = new RateLimitedError({ retryAfterMs: 5 });
    expect(await failureOf(tryJob(push, job))).toBe(refuse);
    await push.close();
    expect(closed).toBe(1);
  });

  it('bulk-action BA-17: VAPID keys come from the environment; half a set or a wrong one is refused at once', async () => {
    const env = {
      VAPID_PUBLIC_KEY: VAPID.publicKey,
      VAPID_PRIVATE_KEY: VAPID.privateKey,
      VAPID_SUBJECT: VAPID.subject,
    };
    await using push = new PushNotificationProcessor({}, { env });
    const local = new Browser().subscription('https://127.0.0.1:1/');
    // It is configured, so it tries: the guard refuses.
    expect(await failureOf(tryJob(push, { subscription: local, ...NOTE }))).toMatchObject(REFUSED);
    const made = (change: Record<string, string>) => () =>
      new PushNotificationProcessor({}, { env: { ...env, ...change } });
    expect(made({ VAPID_SUBJECT: '' })).toThrow(/^VAPID_SUBJECT must be a mailto: or https: address/);
    expect(made({ VAPID_SUBJECT: 'ops@example.com' })).toThrow(/^VAPID_SUBJECT must be/);
    expect(made({ VAPID_PRIVATE_KEY: '' })).toThrow(/^VAPID_PRIVATE_KEY must be/);
    expect(made({ VAPID_PRIVATE_KEY: 's3cret' })).toThrow(/got '\(not shown\)'$/);
    expect(made({ VAPID_PRIVATE_KEY: Buffer.alloc(32).toString('base64url') })).toThrow(
      /P-256.*\(not shown\)/,
    );
    expect(made({ VAPID_PUBLIC_KEY: webPush.generateVAPIDKeys().publicKey })).toThrow(
      /^VAPID_PUBLIC_KEY must be/,
    );
    expect(() => new WebPushTransport({ ...VAPID, publicKey: 'x' })).toThrow(
      /publicKey must be the public key/,
    );
    expect(() => new PushNotificationProcessor({ deviceTokens: {} as never })).toThrow(/a PushTransport/);
  });
});

describe('bulk-action BA-17: PUSH_NOTIFICATION with hostile fields', () => {
  it('bulk-action BA-17: refuses them by name before anything is called', async () => {
    await using service = await startWebServer();
    await using push = pusher();
    const subscription = new Browser().subscription(service.origin);
    const { keys, endpoint } = subscription;
    const offCurve = Buffer.alloc(65, 4).toString('base64url');
    const hostile: [field: string, payload: unknown][] = [
      ['value', null],
      ['subscription', { ...NOTE }],
      ['subscription', { ...NOTE, subscription: 'x' }],
      ['subscription', { ...NOTE, subscription: { endpoint } }],
      ['deviceToken', { ...NOTE, subscription, deviceToken: 'abc' }],
      ['deviceToken', { ...NOTE, deviceToken: '' }],
      ['deviceToken', { ...NOTE, deviceToken: 'a b\r\n' }],
      ['deviceToken', { ...NOTE, deviceToken: ['abc'] }],
      ['subscription.endpoint', { ...NOTE, subscription: { endpoint: 7, keys } }],
      ['subscription.endpoint', { ...NOTE, subscription: { endpoint: 'push', keys } }],
      ['subscription.keys.p256dh', { ...NOTE, subscription: { endpoint, keys: { auth: keys.auth } } }],
      ['subscription.keys', { ...NOTE, subscription: { endpoint, keys: { ...keys, p256dh: 'AAAA' } } }],
      ['subscription.keys', { ...NOTE, subscription: { endpoint, keys: { ...keys, p256dh: offCurve } } }],
      ['subscription.keys', { ...NOTE, subscription: { endpoint, keys: { ...keys, auth: 'AAAA' } } }],
      ['title', { ...NOTE, subscription, title: '' }],
      ['title', { ...NOTE, subscription, title: { a: 1 } }],
      ['message', { title: 'x', subscription }],
      ['message', { title: 'x', message: 'ü'.repeat(2000), subscription }],
    ];
    for (const [field, payload] of hostile) {
      const failure = await failureOf(tryJob(push, payload), payload);
      expect(failure, JSON.stringify(payload)).toMatchObject({ code: 'FIELD_INVALID', retryable: false });
      expect(failure.message).toContain(`The payload's ${field} must be `);
    }
    const extra = { ...NOTE, subscription, topic: 'x' };
    expect(await failureOf(tryJob(push, extra))).toMatchObject({ code: 'FIELD_UNKNOWN' });
    expect(service.connections).toBe(0);
  });

  it('bulk-action BA-17: the largest notification fits into what a push service takes', async () => {
    await using service = await startWebServer((response) => response.writeHead(201).end());
    await using push = pusher();
    const browser = new Browser();
    const overhead = JSON.stringify({ title: 'x', message: '' }).length;
    const message = 'y'.repeat(3993 - overhead);
    const subscription = browser.subscription(service.origin);
    expect(await tryJob(push, { subscription, title: 'x', message })).toMatchObject({ delivered: true });
    const [request] = service.requests;
    expect(request?.body.byteLength).toBeLessThanOrEqual(4096);
    expect(browser.read(request?.body ?? Buffer.alloc(0))).toEqual({ title: 'x', message });
    expect(await failureOf(tryJob(push, { subscription, title: 'x', message: `${message}y` }))).toMatchObject(
      {
        code: 'FIELD_INVALID',
      },
    );
  });
});
