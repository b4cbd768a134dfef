import { describe, expect, it } from 'vitest';
import { ApiKeys, requireKeys } from '../../src/security/api-keys.js';
import { originRefusal } from '../../src/security/judge-origin.js';
import { API_KEYS, SECRETS } from './test-keys.js';

describe('API keys', () => {
  it('lead to their name, role and tenant', () => {
    const keys = new ApiKeys(API_KEYS);
    expect(keys.find(SECRETS.operate)).toEqual({ name: 'operator', role: 'operate', tenant: undefined });
    expect(keys.find(SECRETS.acme)).toEqual({ name: 'acme-key', role: 'admin', tenant: 'acme' });
    for (const wrong of ['', 'x', `${SECRETS.read} `, SECRETS.read.slice(1), SECRETS.read.toUpperCase()])
      expect(keys.find(wrong)).toBeUndefined();
  });

  it('may be several at once, of one name too: an old one is taken out when nobody uses it any more', () => {
    const keys = new ApiKeys(`a:read:${SECRETS.read}, a:read:${SECRETS.operate},`);
    expect([keys.size, keys.find(SECRETS.read)?.name, keys.find(SECRETS.operate)?.name]).toEqual([
      2,
      'a',
      'a',
    ]);
  });

  it.each([
    'a:read:short',
    'a:read',
    `a:root:${SECRETS.read}`,
    `:read:${SECRETS.read}`,
    `a:read::${SECRETS.read}`,
    `a:read:t:x:${SECRETS.read}`,
    `a b:read:${SECRETS.read}`,
    `a:read:ac/me:${SECRETS.read}`,
    `a:read:${'t'.repeat(129)}:${SECRETS.read}`,
    `local:admin:${SECRETS.read}`,
    `anybody:read:acme:${SECRETS.read}`,
  ])('%s is refused, without showing a secret', (text) => {
    const refused = () => new ApiKeys(text);
    expect(refused).toThrow(/key 1/);
    expect(refused).not.toThrow(new RegExp(SECRETS.read));
  });

  it.each([' ', '\t', 'é', '\u{1F511}', '\u007f'])(
    'with %j in its secret are refused: it cannot be sent',
    (sign) => {
      expect(() => new ApiKeys(`a:read:${SECRETS.read}${sign}x`)).toThrow(
        /key 1 \(a\) needs a secret of printable ASCII characters without spaces/,
      );
    },
  );

  it('are needed wherever others can reach the server', () => {
    for (const host of ['0.0.0.0', '::', '192.168.1.5', 'example.org'])
      expect(() => requireKeys({ host }, { size: 0 })).toThrow(/MILLRACE_API_KEYS/);
    for (const host of ['127.0.0.1', 'localhost', '::1', '127.8.8.8'])
      expect(() => requireKeys({ host }, { size: 0 })).not.toThrow();
    expect(() => requireKeys({ host: '0.0.0.0' }, { size: 1 })).not.toThrow();
  });
});

describe('where a request comes from', () => {
  const refusal = (method: string, headers: { origin?: string; host?: string }, hasKeys = false) =>
    originRefusal({ method, headers }, { hasKeys })?.code;

  it('without keys only this machine is answered, by whatever name it is called', () => {
    for (const host of ['127.0.0.1:3000', 'localhost', 'LOCALHOST:1', '[::1]:3000'])
      expect(refusal('GET', { host })).toBeUndefined();
    for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', ''])
      expect(refusal('GET', { host })).toBe('HOST_REFUSED');
    expect(refusal('GET', { host: 'millrace.example' }, true)).toBeUndefined();
  });

  it('another web page may look, never change anything', () => {
    const host = 'localhost:3000';
    expect(refusal('POST', { host, origin: 'http://localhost:3000' })).toBeUndefined();
    expect(refusal('POST', { host })).toBeUndefined();
    for (const origin of ['http://evil.example', 'http://localhost:3001', 'null', 'garbage'])
      for (const hasKeys of [true, false])
        expect(refusal('DELETE', { host, origin }, hasKeys)).toBe('ORIGIN_REFUSED');
    expect(refusal('GET', { host, origin: 'http://evil.example' })).toBeUndefined();
  });
});
