import { describe, expect, it } from 'vitest';
import { EmailProcessor } from '../../src/processors/index.js';
import { startMailServer } from './smtp-server.js';
import { failureOf, tryJob } from './try-job.js';

const MAIL = { to: 'ada@example.com', subject: 'Hello', body: 'How are you?' };

describe('bulk-action BA-17: SEND_EMAIL with hostile fields', () => {
  it('bulk-action BA-17: line breaks in a subject or a name begin no header and add no recipient', async () => {
    await using server = await startMailServer();
    await using email = new EmailProcessor({ smtpUrl: server.url }, { env: {} });
    for (const lineBreak of ['\r\n', '\n', '\r', '\u2028', '\0', '\v']) {
      const injected = `Hi${lineBreak}Bcc: eve@example.com${lineBreak}${lineBreak}<b>body</b>`;
      const result = await tryJob(email, {
        ...MAIL,
        subject: injected,
        to: `"A${lineBreak}Bcc: x" <ada@example.com>`,
      });
      expect(result.subject).toBe('Hi Bcc: eve@example.com <b>body</b>');
      const mail = server.received.at(-1);
      expect(mail?.to).toEqual(['ada@example.com']);
      expect(mail?.parsed.bcc).toBeUndefined();
      expect(mail?.parsed.subject).toBe('Hi Bcc: eve@example.com <b>body</b>');
      expect(mail?.parsed.text?.trim()).toBe('How are you?');
      expect(mail?.raw).not.toMatch(/^bcc:/im);
    }
  });

  it('bulk-action BA-17: a body that speaks SMTP stays one message', async () => {
    await using server = await startMailServer();
    await using email = new EmailProcessor({ smtpUrl: server.url }, { env: {} });
    const body =
      'a\r\n.\r\nMAIL FROM:<eve@example.com>\r\nRCPT TO:<bob@example.com>\r\nDATA\r\nx\r\n.\n.\r.\r\nend';
    await tryJob(email, { ...MAIL, body });
    await tryJob(email, MAIL);
    expect(server.received).toHaveLength(2);
    expect(server.received.map(({ to }) => to)).toEqual([['ada@example.com'], ['ada@example.com']]);
    expect(server.received[0]?.parsed.text).toContain('RCPT TO:<bob@example.com>');
    expect(server.received[0]?.parsed.text?.trim()).toMatch(/end$/);
  });

  it('bulk-action BA-17: what is no single plain address reaches no server', async () => {
    await using server = await startMailServer();
    await using email = new EmailProcessor({ smtpUrl: server.url }, { env: {} });
    const hostile = [
      '',
      'ada',
      'ada@',
      '@example.com',
      'a@b@example.com',
      'ada@example.com, eve@example.com',
      'ada@example.com;eve@example.com',
      'ada@example.com eve@example.com',
      'ada@example.com\r\nRCPT TO:<eve@example.com>',
      'ada@example.com>\r\nRCPT TO:<eve@example.com',
      'ada@exam\0ple.com',
      'A <ada@example.com> <eve@example.com>',
      'A <ada@example.com>, B <eve@example.com>',
      '"eve@example.com"@example.com',
      'ada@example.com, Eve <eve@example.com>',
      'group:ada@example.com;',
      '(eve@example.com)ada@example.com',
      'ada@example.com/eve.example',
      'ada@[127.0.0.1]',
      'ada@-example.com',
      `${'a'.repeat(65)}@example.com`,
      `ada@${'a'.repeat(64)}.com`,
      `ada@${'a.'.repeat(200)}com`,
      `${'x'.repeat(100_000)}@example.com`,
      'a\u202eb@example.com',
    ];
    for (const to of [...hostile, null, 7, {}, { address: 'eve@example.com' }, [['eve@example.com']]]) {
      const failure = await failureOf(tryJob(email, { ...MAIL, to }), to);
      expect(failure, JSON.stringify(to)).toMatchObject({ code: 'FIELD_INVALID', retryable: false });
      expect(failure.message).toMatch(/^The payload's to must be an address/);
      expect(failure.message.length).toBeLessThan(400);
    }
    const many = Array.from({ length: 101 }, (_, n) => `a${n}@example.com`);
    for (const to of [[], many])
      expect((await failureOf(tryJob(email, { ...MAIL, to }))).message).toContain('1 to 100 addresses');
    expect(server.connections).toBe(0);
  });

  it('bulk-action BA-17: only the listed fields are read, and only texts: no files, no addresses, no headers', async () => {
    await using email = new EmailProcessor({}, { env: {} });
    const extra = {
      cc: 'eve@example.com',
      bcc: 'x',
      from: 'x',
      headers: {},
      attachments: [{ path: '/etc/passwd' }],
      raw: '',
    };
    for (const [field, value] of Object.entries(extra)) {
      const failure = await failureOf(tryJob(email, { ...MAIL, [field]: value }));
      expect(failure).toMatchObject({ code: 'FIELD_UNKNOWN', retryable: false });
      expect(failure.message).toContain(`'${field}'`);
    }
    const polluted: unknown = JSON.parse(
      '{"to":"ada@example.com","subject":"s","body":"b","__proto__":{"cc":"x"}}',
    );
    expect(await failureOf(tryJob(email, polluted))).toMatchObject({ code: 'FIELD_UNKNOWN' });
    const file = { path: '/etc/passwd' };
    for (const wrong of [
      { ...MAIL, body: file },
      { ...MAIL, html: file },
      { ...MAIL, html: { href: 'http://127.0.0.1/' } },
      { ...MAIL, subject: ['a'] },
      { ...MAIL, subject: '' },
      { ...MAIL, subject: '\r\n ' },
      { ...MAIL, subject: 'x'.repeat(999) },
      { ...MAIL, body: 'x'.repeat(1_000_001) },
      { to: MAIL.to, subject: 's' },
      null,
      'text',
      [MAIL],
    ])
      expect(await failureOf(tryJob(email, wrong))).toMatchObject({
        code: 'FIELD_INVALID',
        retryable: false,
      });
  });

  it('bulk-action BA-17: a path or an address in a text is text', async () => {
    await using server = await startMailServer();
    await using email = new EmailProcessor({ smtpUrl: server.url }, { env: {} });
    const html = '<img src="file:///etc/passwd"><img src="http://127.0.0.1:1/x.png">';
    await tryJob(email, { ...MAIL, html });
    expect(server.received[0]?.parsed.html?.trim()).toBe(html);
    expect(server.received[0]?.parsed.attachments).toEqual([]);
  });
});
