import { latch, ManualClock, until } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import {
  EmailProcessor,
  type EmailProcessorOptions,
  HttpRequestProcessor,
} from '../../src/processors/index.js';
import { reply, startMailServer } from './smtp-server.js';
import { failureOf, tryJob } from './try-job.js';

const MAIL = { to: 'ada@example.com', subject: 'Hello', body: 'How are you?' };
const mailer = (options: EmailProcessorOptions) => new EmailProcessor(options, { env: {} });

describe('bulk-action BA-17: SEND_EMAIL hands messages to a mail server', () => {
  it('bulk-action BA-17: sends text and HTML to every recipient and says so', async () => {
    await using server = await startMailServer();
    await using email = mailer({ smtpUrl: server.url, from: 'Shop <shop@example.com>' });
    const to = ['ada@example.com', 'Grace Höpper <grace@example.com>'];
    const payload = { to, subject: 'Größe ✓', body: 'plain', html: '<b>bold</b>' };
    expect(await tryJob(email, payload)).toStrictEqual({ to, subject: 'Größe ✓', delivered: true });
    const [mail] = server.received;
    expect(server.received).toHaveLength(1);
    expect(mail?.from).toBe('shop@example.com');
    expect(mail?.to).toEqual(['ada@example.com', 'grace@example.com']);
    expect(mail?.parsed.from).toMatchObject({ name: 'Shop', address: 'shop@example.com' });
    expect(mail?.parsed.to?.[1]).toMatchObject({ name: 'Grace Höpper', address: 'grace@example.com' });
    expect(mail?.parsed.subject).toBe('Größe ✓');
    expect(mail?.parsed.text?.trim()).toBe('plain');
    expect(mail?.parsed.html?.trim()).toBe('<b>bold</b>');
  });

  it('bulk-action BA-17: every try of a job has one Message-ID, every job another, all over one connection', async () => {
    await using server = await startMailServer();
    await using email = new EmailProcessor(
      { smtpUrl: server.url, from: 'shop@example.com' },
      { env: {}, clock: new ManualClock({ now: Date.UTC(2026, 1, 3) }) },
    );
    for (const key of ['g:1', 'g:1', 'g:2']) await tryJob(email, MAIL, { key });
    const [first, again, other] = server.received.map(({ parsed }) => parsed);
    expect(first?.messageId).toMatch(/^<[0-9a-f]{40}@example\.com>$/);
    expect(again?.messageId).toBe(first?.messageId);
    expect(other?.messageId).not.toBe(first?.messageId);
    expect(Date.parse(first?.date ?? '')).toBe(Date.UTC(2026, 1, 3));
    expect(server.connections).toBe(1);
  });

  it('bulk-action BA-17: a connection that the server ended between two messages fails no try', async () => {
    await using server = await startMailServer();
    await using email = mailer({ smtpUrl: server.url });
    for (let round = 0; round < 3; round++) {
      expect(await tryJob(email, MAIL)).toMatchObject({ delivered: true });
      server.cut();
    }
    expect(server.received).toHaveLength(3);
  });

  it('bulk-action BA-17: a login works, and a wrong one is final and said', async () => {
    await using server = await startMailServer({
      authOptional: false,
      onAuth({ username, password }, _, done) {
        if (username === 'busy') done(reply(454));
        else if (password === 'p@ss') done(null, { user: username });
        else done(reply(535));
      },
    });
    const urlFor = (login: string) => server.url.replace('//', `//${login}@`);
    await using good = mailer({ smtpUrl: urlFor('shop%40example.com:p%40ss') });
    expect(await tryJob(good, MAIL)).toMatchObject({ delivered: true });
    // Nobody was named as the sender: the user is an address.
    expect(server.received[0]?.from).toBe('shop@example.com');
    await using wrong = mailer({ smtpUrl: urlFor('shop:no') });
    expect(await failureOf(tryJob(wrong, MAIL))).toMatchObject({ code: 'EMAIL_REFUSED', retryable: false });
    await using busy = mailer({ smtpUrl: urlFor('busy:p%40ss') });
    expect(await failureOf(tryJob(busy, MAIL))).toMatchObject({ code: 'EMAIL_FAILED', retryable: true });
    expect(server.received).toHaveLength(1);
  });
});

describe('bulk-action BA-17: SEND_EMAIL and a mail server that does not take a message', () => {
  const steps = ['MAIL', 'RCPT', 'DATA'] as const;
  const server = (step: (typeof steps)[number], code: number) =>
    startMailServer({
      ...(step === 'MAIL' && { onMailFrom: (_address, _session, done) => done(reply(code)) }),
      ...(step === 'RCPT' && { onRcptTo: (_address, _session, done) => done(reply(code)) }),
      ...(step === 'DATA' && {
        onData: (stream, _session, done) => {
          stream.resume().on('end', () => done(reply(code)));
        },
      }),
    });

  for (const step of steps) {
    it(`bulk-action BA-17: 4xx to ${step} is tried again, 5xx is final; neither is congestion`, async () => {
      for (const code of [421, 450, 451, 452]) {
        await using mailServer = await server(step, code);
        await using email = mailer({ smtpUrl: mailServer.url });
        const failure = await failureOf(tryJob(email, MAIL));
        expect(failure).toMatchObject({ code: 'EMAIL_FAILED', retryable: true });
        expect(failure.message).toContain(String(code));
      }
      for (const code of [550, 552, 554]) {
        await using mailServer = await server(step, code);
        await using email = mailer({ smtpUrl: mailServer.url });
        const failure = await failureOf(tryJob(email, MAIL));
        expect(failure).toMatchObject({ code: 'EMAIL_REFUSED', retryable: false });
        expect(failure.message).toContain(String(code));
      }
    });
  }

  it('bulk-action BA-17: a message that only some recipients get is neither a success nor tried again', async () => {
    const refuse: Record<string, number> = { 'bob@example.com': 550, 'cy@example.com': 451 };
    await using mailServer = await startMailServer({
      onRcptTo: ({ address }, _session, done) => {
        const code = refuse[address];
        done(code === undefined ? null : reply(code));
      },
    });
    await using email = mailer({ smtpUrl: mailServer.url });
    const to = ['ada@example.com', 'bob@example.com', 'cy@example.com'];
    const failure = await failureOf(tryJob(email, { ...MAIL, to }));
    expect(failure).toMatchObject({ code: 'EMAIL_PARTLY_REFUSED', retryable: false });
    expect(failure.message).toMatch(/Sent to ada@example.com, refused for bob@example.com, cy@example.com/);
    expect(mailServer.received.map((mail) => mail.to)).toEqual([['ada@example.com']]);
    // All refused, one of them with a passing error: nobody has it, so it may be tried again.
    const none = await failureOf(tryJob(email, { ...MAIL, to: to.slice(1) }));
    expect(none).toMatchObject({ code: 'EMAIL_FAILED', retryable: true });
  });

  it('bulk-action BA-17: a server that is away or breaks off is tried again, and one try sends one copy', async () => {
    await using away = mailer({ smtpUrl: 'smtp://127.0.0.1:1' });
    expect(await failureOf(tryJob(away, MAIL))).toMatchObject({ code: 'EMAIL_FAILED', retryable: true });

    let copies = 0;
    await using breaking = await startMailServer({
      onData: (stream) => {
        // It has the message, but its answer never comes.
        stream.resume().on('end', () => {
          copies += 1;
          breaking.cut();
        });
      },
    });
    await using email = mailer({ smtpUrl: breaking.url });
    expect(await failureOf(tryJob(email, MAIL))).toMatchObject({ code: 'EMAIL_FAILED', retryable: true });
    expect(copies).toBe(1);
  });

  it('bulk-action BA-17: a certificate that nobody vouches for is not trusted unless the URL says so', async () => {
    await using mailServer = await startMailServer({ secure: true });
    const smtpUrl = mailServer.url.replace('smtp:', 'smtps:');
    await using email = mailer({ smtpUrl });
    const failure = await failureOf(tryJob(email, MAIL));
    expect(failure).toMatchObject({ code: 'EMAIL_FAILED', retryable: true });
    expect(failure.message).toMatch(/certificate/i);
    expect(mailServer.received).toHaveLength(0);
    await using trusting = mailer({ smtpUrl: `${smtpUrl}?tls.rejectUnauthorized=false` });
    expect(await tryJob(trusting, MAIL)).toMatchObject({ delivered: true });
    await using http = new HttpRequestProcessor({ allowedAddresses: ['127.0.0.1'] }, { env: {} });
    const call = await failureOf(tryJob(http, { url: `https://127.0.0.1:${mailServer.port}/` }));
    expect(call).toMatchObject({ code: 'CALL_FAILED', retryable: true });
    expect(call.message).toMatch(/certificate/i);
  });

  it('bulk-action BA-17: an aborted try is cut off at once and what waited behind it is never sent', async () => {
    const arrived = latch('the message has arrived');
    let answers = 0;
    await using mailServer = await startMailServer({
      onData: (stream, _session, done) => {
        stream.resume().on('end', () => {
          if (arrived.opened) done(null, `taken ${++answers}`);
          else arrived.open();
        });
      },
    });
    await using email = mailer({ smtpUrl: mailServer.url, connectionsMax: 1 });
    const [first, second] = [new AbortController(), new AbortController()];
    const sending = failureOf(tryJob(email, MAIL, { signal: first.signal }));
    await arrived.wait();
    const waiting = failureOf(tryJob(email, MAIL, { signal: second.signal }));
    second.abort(new Error('not any more'));
    expect((await waiting).message).toBe('not any more');
    first.abort(new Error('timed out'));
    expect((await sending).message).toBe('timed out');
    await until(() => mailServer.open === 0, { what: 'the connection to be cut' });
    expect(mailServer.connections).toBe(1);
    // The place of the one that was cut off is free again, and the next message is the only one that is taken.
    expect(await tryJob(email, MAIL)).toMatchObject({ delivered: true });
    expect(answers).toBe(1);
  });

  it('bulk-action BA-17: a closed processor leaves no connection and says why it sends nothing', async () => {
    await using mailServer = await startMailServer();
    const email = mailer({ smtpUrl: mailServer.url });
    await Promise.all([tryJob(email, MAIL, { key: 'a' }), tryJob(email, MAIL, { key: 'b' })]);
    expect(mailServer.connections).toBe(2);
    await email.close();
    await until(() => mailServer.open === 0, { what: 'the connections to end' });
    expect(await failureOf(tryJob(email, MAIL))).toMatchObject({ code: 'EMAIL_FAILED', retryable: true });
  });
});

describe('bulk-action BA-17: SEND_EMAIL without a mail server', () => {
  it('bulk-action BA-17: renders the message and says that it was not delivered', async () => {
    await using email = mailer({});
    expect(await tryJob(email, MAIL)).toStrictEqual({
      to: 'ada@example.com',
      subject: 'Hello',
      delivered: false,
    });
    expect(await failureOf(tryJob(email, { ...MAIL, to: 'nobody' }))).toMatchObject({
      code: 'FIELD_INVALID',
      retryable: false,
    });
  });

  it('bulk-action BA-17: SMTP_URL and SMTP_FROM come from the environment, what is given in code wins', async () => {
    await using server = await startMailServer();
    const env = { SMTP_URL: server.url, SMTP_FROM: 'Env <env@example.com>' };
    await using byEnvironment = new EmailProcessor({}, { env });
    expect(await tryJob(byEnvironment, MAIL)).toMatchObject({ delivered: true });
    await using byCode = new EmailProcessor({ from: 'code@example.com' }, { env });
    await tryJob(byCode, MAIL);
    await using nobody = new EmailProcessor(
      {},
      { env: { SMTP_URL: server.url.replace('127.0.0.1', 'localhost') } },
    );
    await tryJob(nobody, MAIL);
    const senders = ['env@example.com', 'code@example.com', 'no-reply@localhost'];
    expect(server.received.map(({ from }) => from)).toEqual(senders);
    await using off = new EmailProcessor({ smtpUrl: '' }, { env });
    expect(await tryJob(off, MAIL)).toMatchObject({ delivered: false });
  });

  it('bulk-action BA-17: settings that cannot work are refused at once, without showing a password', () => {
    for (const SMTP_URL of ['http://user:s3cret@host', 'smtp://', 's3cret', 'smtp:s3cret'])
      expect(() => new EmailProcessor({}, { env: { SMTP_URL } })).toThrow(
        /^SMTP_URL must be an address such as .*got '\(not shown\)'$/,
      );
    expect(() => mailer({ smtpUrl: 'ftp://u:s3cret@host' })).toThrow(/smtpUrl must be .*\(not shown\)/);
    expect(() => new EmailProcessor({}, { env: { SMTP_FROM: 'a@b, c@d' } })).toThrow(/SMTP_FROM must be one/);
    expect(() => mailer({ from: 'nobody' })).toThrow(/from must be one address/);
    expect(() => mailer({ form: 'a@b.c' } as never)).toThrow(/did you mean 'from'/);
  });
});
