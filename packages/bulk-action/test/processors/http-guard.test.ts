import { describe, expect, it } from 'vitest';
import { AddressGuard } from '../../src/processors/address-guard.js';
import { HttpRequestProcessor, type HttpRequestProcessorOptions } from '../../src/processors/index.js';
import { startNameServer } from './dns-server.js';
import { startWebServer } from './http-server.js';
import { failureOf, tryJob } from './try-job.js';

const REFUSED = { code: 'ADDRESS_REFUSED', retryable: false };
const guarded = (options: HttpRequestProcessorOptions = {}) => new HttpRequestProcessor(options, { env: {} });

describe('bulk-action BA-17: which addresses HTTP_REQUEST may call', () => {
  it('bulk-action BA-17: the public ones, and of the others only what is allowed', () => {
    const guard = new AddressGuard('test', {});
    const open = ['8.8.8.8', '93.184.216.34', '172.32.0.1', '2606:4700::1111', '::ffff:8.8.8.8'];
    const closed = [
      ...['0.0.0.0', '0.1.2.3', '10.1.2.3', '100.64.0.1', '127.0.0.1', '127.255.255.254', '169.254.169.254'],
      ...[
        '172.16.0.1',
        '172.31.255.255',
        '192.0.0.1',
        '192.0.2.1',
        '192.168.1.1',
        '198.18.0.1',
        '198.51.100.1',
      ],
      ...['203.0.113.1', '224.0.0.1', '239.1.1.1', '240.0.0.1', '255.255.255.255', '192.88.99.1'],
      ...['::', '::1', '::7f00:1', '::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:0:127.0.0.1', 'fe80::1'],
      ...[
        'fe80::1%eth0',
        'fc00::1',
        'fd00:ec2::254',
        'fec0::1',
        'ff02::1',
        '64:ff9b::7f00:1',
        '64:ff9b:1::1',
      ],
      ...['2002:7f00:1::', '2001:0:1::1', '2001:db8::1', '100::1', '3fff::1', '5f00::1', '4000::1'],
      ...['', 'localhost', '1', '127.1', '0x7f.1', '8.8'],
    ];
    expect(open.filter((address) => !guard.allows(address))).toEqual([]);
    expect(closed.filter((address) => guard.allows(address))).toEqual([]);
    const wider = new AddressGuard('test', { allowedAddresses: ['10.0.0.0/8', '::1', 'fd00::/8'] });
    const allowed = ['10.1.2.3', '::ffff:10.1.2.3', '::1', 'fd12::1', '8.8.8.8'];
    expect(allowed.filter((address) => !wider.allows(address))).toEqual([]);
    expect(['11.0.0.1', '127.0.0.1', '::2', 'fc00::1'].filter((address) => wider.allows(address))).toEqual([
      '11.0.0.1',
    ]);
  });

  it('bulk-action BA-17: by default nothing on this machine is reached, however it is written', async () => {
    await using server = await startWebServer();
    await using http = guarded();
    const { port } = server;
    const hosts = ['127.0.0.1', '127.1', '2130706433', '0x7f000001', '0177.0.0.1', '0', '[::1]', '[::]'];
    hosts.push('[::ffff:127.0.0.1]', '[::ffff:7f00:1]', 'localhost', 'LOCALHOST', '１２７.0.0.1');
    hosts.push('169.254.169.254', '10.0.0.1', '[fe80::1]', '127。0。0。1', '%31%32%37.0.0.1');
    for (const host of hosts) {
      const url = `http://${host}:${port}/`;
      expect(await failureOf(tryJob(http, { url }), url), url).toMatchObject(REFUSED);
    }
    expect(server.connections).toBe(0);
  });

  it('bulk-action BA-17: only http and https, and no password in the address', async () => {
    await using http = guarded();
    for (const url of [
      'file:///etc/passwd',
      'ftp://example.com/',
      'gopher://example.com/',
      'data:,x',
      'ws://a.b/',
    ])
      expect((await failureOf(tryJob(http, { url }), url)).message).toContain('only http and https');
    for (const url of [
      'http://user:pw@example.com/',
      'http://example.com@127.0.0.1/',
      'https://:pw@example.com/',
    ])
      expect(await failureOf(tryJob(http, { url }), url)).toMatchObject(REFUSED);
  });

  it('bulk-action BA-17: with a list of hosts only those are called', async () => {
    await using names = await startNameServer(() => ['127.0.0.1']);
    await using server = await startWebServer();
    const options = { allowedHosts: ['api.test', '*.Shop.test'], allowedAddresses: ['127.0.0.0/8'] };
    await using http = new HttpRequestProcessor(options, { env: {}, resolve: names.resolve });
    const call = (host: string) => tryJob(http, { url: `http://${host}:${server.port}/` });
    for (const host of ['api.test', 'API.test', 'api.test.', 'a.shop.test', 'a.b.shop.test'])
      expect(await call(host)).toMatchObject({ status: 200 });
    for (const host of ['shop.test', 'evilshop.test', 'api.test.evil.test', 'x.api.test', '127.0.0.1'])
      expect((await failureOf(call(host), host)).message).toContain('allowedHosts');
    expect(names.asked.has('evilshop.test')).toBe(false);
  });

  it('bulk-action BA-17: the lists may come from the environment; what cannot be read is refused at once', async () => {
    await using server = await startWebServer();
    const env = {
      HTTP_REQUEST_ALLOWED_ADDRESSES: ' 127.0.0.1 , 10.0.0.0/8',
      HTTP_REQUEST_ALLOWED_HOSTS: '127.0.0.1',
    };
    await using http = new HttpRequestProcessor({}, { env });
    expect(await tryJob(http, { url: server.origin })).toMatchObject({ status: 200 });
    expect(await failureOf(tryJob(http, { url: 'http://10.0.0.1/' }))).toMatchObject(REFUSED);
    for (const range of ['', 'localhost', '10.0.0.0/33', '10.0.0', 7])
      expect(() => guarded({ allowedAddresses: [range as string] })).toThrow(/allowedAddresses must be/);
    for (const host of ['', '*', '*.', 'a b', 'http://a', 'a/b', 'a:80', 'a.*.b', 'u@a', 7])
      expect(() => guarded({ allowedHosts: [host as string] }), String(host)).toThrow(/allowedHosts must be/);
  });
});

describe('bulk-action BA-17: HTTP_REQUEST and names that change their address', () => {
  it('bulk-action BA-17: the address that was checked is the one that is called', async () => {
    await using good = await startWebServer((response) =>
      response.setHeader('connection', 'close').end('good'),
    );
    await using secret = await startWebServer(undefined, { host: '127.0.0.2', port: good.port });
    // Allowed at every even question, forbidden at every odd one: who asks twice is led astray.
    await using names = await startNameServer((_, before) => [before % 2 === 0 ? '127.0.0.1' : '127.0.0.2']);
    const options = { allowedAddresses: ['127.0.0.1'] };
    await using http = new HttpRequestProcessor(options, { env: {}, resolve: names.resolve });
    const url = `http://rebind.test:${good.port}/`;
    for (let round = 0; round < 10; round++) {
      expect(await tryJob(http, { url })).toMatchObject({ body: 'good' });
      expect(await failureOf(tryJob(http, { url }))).toMatchObject(REFUSED);
    }
    expect(names.asked.get('rebind.test')).toBe(20);
    expect(good.connections).toBe(10);
    expect(secret.connections).toBe(0);
  });

  it('bulk-action BA-17: of several addresses only those are tried that may be called', async () => {
    await using good = await startWebServer();
    await using secret = await startWebServer(undefined, { host: '127.0.0.2', port: good.port });
    await using names = await startNameServer((name) =>
      name === 'mixed.test'
        ? ['127.0.0.2', '10.0.0.1', '127.0.0.1']
        : name === 'inside.test'
          ? ['10.0.0.7']
          : [],
    );
    const options = { allowedAddresses: ['127.0.0.1'] };
    await using http = new HttpRequestProcessor(options, { env: {}, resolve: names.resolve });
    expect(await tryJob(http, { url: `http://mixed.test:${good.port}/` })).toMatchObject({ body: 'ok' });
    expect(secret.connections).toBe(0);
    const inside = await failureOf(tryJob(http, { url: 'http://inside.test/' }));
    expect(inside).toMatchObject(REFUSED);
    // Who may submit a job does not learn what a name means inside.
    expect(inside.message).not.toContain('10.0.0.7');
    // No such name: that may pass.
    expect(await failureOf(tryJob(http, { url: 'http://gone.test/' }))).toMatchObject({
      code: 'CALL_FAILED',
      retryable: true,
    });
  });
});
