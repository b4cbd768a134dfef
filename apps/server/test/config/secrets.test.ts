import { describe, expect, it } from 'vitest';
import { ServerConfig } from '../../src/config/model.js';
import { masked, secretsOf } from '../../src/config/secrets.js';
import { SETTINGS } from '../../src/config/settings.js';
import { shownSettings } from '../../src/config/show-config.js';
import { createLog, secretHider } from '../../src/log.js';

const ENV = {
  SMTP_URL: 'smtp://mailer:smtp-password@mail.example.com',
  VAPID_PRIVATE_KEY: 'vapid-private-key',
  VAPID_PUBLIC_KEY: 'vapid-public-key',
  CHAT_API_KEY: 'sk-chat-key',
};
const CONFIG = ServerConfig.parse({
  apiKeys: 'ann:read:first-secret-of-24-chars-, bob:operate:acme:second-secret-of-24-chars',
  redisUrl: 'redis://:p%40ss%22word@redis:6379/0',
  databaseUrl: 'postgres://user:pg-password@db:5432/millrace?password=pg-parameter&sslmode=require',
});
const SECRETS = [
  ...['first-secret-of-24-chars-', 'second-secret-of-24-chars', 'p%40ss%22word', 'p@ss"word', 'pg-password'],
  ...['pg-parameter', 'smtp-password', 'vapid-private-key', 'sk-chat-key'],
];

describe('the secrets of a configuration', () => {
  it('are all known, as they are written and as they are used', () => {
    expect(new Set(secretsOf(CONFIG, ENV))).toEqual(new Set(SECRETS));
    expect(secretsOf({}, {})).toEqual([]);
  });

  it('are in no line of the log, however they got there', () => {
    const lines: string[] = [];
    const destination = { write: (line: string) => lines.push(line) > 0 };
    const log = createLog({ level: 'info', secrets: secretsOf(CONFIG, ENV), destination });
    for (const secret of SECRETS)
      log.info({ err: new Error(`refused ${secret}`), url: `x:${secret}@y` }, secret);
    expect(lines).toHaveLength(SECRETS.length);
    for (const secret of SECRETS)
      for (const line of lines) {
        expect(line).not.toContain(secret);
        expect(JSON.stringify(JSON.parse(line))).not.toContain(JSON.stringify(secret).slice(1, -1));
      }
  });

  it('are hidden whole where one is the beginning of another', () => {
    expect(secretHider(['secret-one', 'secret-one-and-more'])('is secret-one-and-more')).toBe('is [secret]');
    expect(secretHider(['abc'])('abcdef')).toBe('abcdef');
  });

  it('are not shown, and the rest is', () => {
    const shown = shownSettings({ config: CONFIG, given: new Map(), file: undefined }, ENV);
    for (const secret of SECRETS) expect(JSON.stringify(shown)).not.toContain(secret);
    const values = Object.fromEntries(shown.map(({ setting, value }) => [setting, value]));
    expect(values).toMatchObject({
      apiKeys: 'ann:read:***,bob:operate:acme:***',
      redisUrl: 'redis://:***@redis:6379/0',
      databaseUrl: 'postgres://user:***@db:5432/millrace?password=***&sslmode=require',
      SMTP_URL: 'smtp://mailer:***@mail.example.com',
      VAPID_PUBLIC_KEY: 'vapid-public-key',
      VAPID_PRIVATE_KEY: '***',
    });
    expect(masked('no key at all')).toBe('***');
  });
});

describe('the settings', () => {
  it('have the names that are written down everywhere', () => {
    const variables = Object.fromEntries(SETTINGS.map(({ path, variable }) => [path, variable]));
    expect(variables).toMatchObject({
      port: 'PORT',
      host: 'HOST',
      role: 'MILLRACE_ROLE',
      dataDir: 'MILLRACE_DATA_DIR',
      redisUrl: 'REDIS_URL',
      databaseUrl: 'DATABASE_URL',
      schema: 'MILLRACE_SCHEMA',
      keyPrefix: 'MILLRACE_KEY_PREFIX',
      apiKeys: 'MILLRACE_API_KEYS',
      app: 'MILLRACE_APP',
      logLevel: 'MILLRACE_LOG_LEVEL',
      gracePeriodMs: 'MILLRACE_GRACE_PERIOD_MS',
      'limits.bodyBytesMax': 'MILLRACE_LIMIT_BODY_BYTES_MAX',
    });
  });
});
