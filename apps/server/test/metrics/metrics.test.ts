import { readFileSync } from 'node:fs';
import { inline } from '@millrace/orchestrator';
import { redisSandbox, until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineApp } from '../../src/index.js';
import { serve, type TestServer } from '../serve.js';
import { SPEC_METRICS } from './spec-metrics.js';

const SHOP = 'shop:read:shop:shop-secret-of-24-characters';
const OPERATOR = 'operator-secret-of-24-chars';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

const application = defineApp({
  routes: { 'ORDER.PLACE': inline(async () => ({ type: 'Ok' }) as never) },
});

interface Dashboard {
  readonly schemaVersion: number;
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] };
  readonly panels: readonly Panel[];
}
interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const DOCS = new URL('../../../../docs/', import.meta.url);
const dashboard = JSON.parse(readFileSync(new URL('grafana.json', DOCS), 'utf8')) as Dashboard;
const OURS = /\b(?:bulk_action|outbox|orchestrator|http|sse|nodejs)_\w+/g;

/** The series of a scrape: name and labels of each line. */
function seriesOf(text: string): readonly (readonly [name: string, labels: readonly string[]])[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = ''] = /^([a-zA-Z_:]\w*)(?:\{(.*)\})? /.exec(line) ?? [];
      return [name, [...labels.matchAll(/(\w+)="/g)].map(([, label]) => label as string)];
    });
}

/** The metrics that a query names: what is no function, no keyword, no label. */
function namesIn(expression: string): string[] {
  const bare = expression
    .replaceAll(/\b(?:by|without)\s*\([^)]*\)/g, ' ')
    .replaceAll(/\{[^}]*\}/g, ' ')
    .replaceAll(/\[[^\]]*\]/g, ' ');
  return [...bare.matchAll(/[a-zA-Z_]\w*(?!\w*\s*\()/g)]
    .map(([name]) => name)
    .filter((name) => name !== 'by');
}

describe('the metrics of a server', () => {
  let server: TestServer;
  let redis: Awaited<ReturnType<typeof redisSandbox>>;
  const scrape = async () => (await server.send('/metrics', { key: OPERATOR })).body as string;

  beforeAll(async () => {
    redis = await redisSandbox();
    server = await serve({
      application,
      redisUrl: redis.url,
      keyPrefix: redis.namespace,
      apiKeys: `operator:operate:${OPERATOR},${SHOP}`,
      bulk: { resources: { mail: { rps: 5 } } },
    });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await redis[Symbol.asyncDispose]();
  });

  it('has every metric that the specifications name, and says what each is', async () => {
    const text = await scrape();
    const described = [...text.matchAll(/^# HELP (\w+) ./gm)].map(([, name]) => name);
    expect(SPEC_METRICS.filter((name) => !described.includes(name))).toEqual([]);
    expect(new Set(described).size).toBe(described.length);
    expect(described).toEqual(expect.arrayContaining(['millrace_info', 'process_resident_memory_bytes']));
  });

  it('has no group, job or tenant in a label', async () => {
    const LABELS =
      'by code kind le major method minor patch quantile resource result role route space state status type version';
    const labels = new Set(seriesOf(await scrape()).flatMap(([, own]) => own));
    expect([...labels].filter((label) => !LABELS.split(' ').includes(label))).toEqual([]);
  });

  it('comes from workers too, beside their health and nothing else', async () => {
    await using worker = await serve({
      role: 'worker',
      databaseUrl: server.databaseUrl,
      redisUrl: redis.url,
      keyPrefix: redis.namespace,
    });
    expect((await worker.send('/metrics')).body).toContain('role="worker"} 1\n');
    expect((await worker.send('/health/ready')).status).toBe(200);
    for (const path of ['/api/docs', '/openapi.json', '/api/operations', '/', '/groups'])
      expect((await worker.send(path)).body, path).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  });

  it('is refused without a key, and to keys of one tenant', async () => {
    expect((await server.send('/metrics')).status).toBe(401);
    const key = SHOP.split(':').at(-1);
    expect(await server.send('/metrics', { key })).toMatchObject({
      status: 403,
      body: { code: 'TENANT_REFUSED' },
    });
  });

  it('counts and logs requests by route, never by what callers write', async () => {
    const command = { domain: 'ORDER', eventType: 'PLACE', bizKey: 'private-business-key' };
    const headers = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` };
    await server.send('/api/operations?x=private-query', { key: OPERATOR, body: command, headers });
    await server.send('/api/operations', { key: OPERATOR, body: command, headers });
    await server.send('/private-path', { key: OPERATOR });
    const isCounted = (now: string) =>
      /route="none",status="404"/.test(now) && /"submitOperation",status="200"\} 2/.test(now);
    const text = await until(async () => scrape().then((now) => (isCounted(now) ? now : '')), {
      what: 'counted requests',
    });
    expect(text).toMatch(/^http_requests_total\{method="POST",route="submitOperation",status="200"\} 2$/m);
    expect(text).toMatch(/^http_requests_total\{method="OTHER",route="none",status="404"\} 1$/m);
    expect(text).toMatch(/^http_request_duration_ms_bucket\{le="30000",route="submitOperation"\} \d+$/m);
    expect(text).toMatch(/^orchestrator_submit_count\{route="ORDER.PLACE"\} 2$/m);
    expect(text).toMatch(/^millrace_info\{version="[^"]+",role="all"\} 1$/m);
    expect(text).toMatch(/^http_requests_open 1$/m);
    // The gate refused it: that is counted, too.
    expect(text).toMatch(/^http_requests_total\{method="GET",route="getMetrics",status="401"\} 1$/m);
    expect(text).not.toContain('private');
    const lines = server.lines.filter((line) => line.includes('"submitOperation"'));
    expect(JSON.parse(lines.find((line) => line.includes('"status":200')) ?? '{}')).toMatchObject({
      method: 'POST',
      route: 'submitOperation',
      status: 200,
      caller: 'operator',
      traceId: TRACE,
    });
    expect(lines.join()).not.toContain('private-query');
    expect(server.lines.join()).not.toContain('private-path');
  });

  it('has every metric that the Grafana dashboard and the alerts ask for', async () => {
    const text = await scrape();
    const described = new Set([...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name as string));
    const asked = dashboard.panels.flatMap(({ targets = [] }) =>
      targets.flatMap(({ expr }) => namesIn(expr)),
    );
    const alerts = readFileSync(new URL('operations.md', DOCS), 'utf8').matchAll(OURS);
    const exists = (name: string) =>
      described.has(name) || described.has(name.replace(/_(bucket|sum|count)$/, ''));
    expect([...asked, ...[...alerts].map(([name]) => name)].filter((name) => !exists(name))).toEqual([]);
    expect(asked.length).toBeGreaterThan(40);
    // The other way round: somebody looks at each metric of ours.
    const ours = [...described].filter((name) => /^(bulk_action|outbox|orchestrator|http|sse)_/.test(name));
    const shown = new Set(asked.map((name) => name.replace(/_(bucket|sum|count)$/, '')));
    expect(ours.filter((name) => !shown.has(name) && !asked.includes(name))).toEqual([]);
  });
});

describe('the Grafana dashboard', () => {
  it('can be imported as it is: its data source is a variable, panels have ids and do not overlap', () => {
    expect(dashboard.templating.list).toContainEqual(
      expect.objectContaining({ name: 'datasource', type: 'datasource' }),
    );
    expect(dashboard.schemaVersion).toBeGreaterThanOrEqual(36);
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const taken = new Set<string>();
    for (const { title, type, gridPos, datasource, targets = [] } of dashboard.panels) {
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.has(`${x} ${y}`), title).toBe(false);
          taken.add(`${x} ${y}`);
        }
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      if (type === 'row') continue;
      // biome-ignore lint/suspicious/noTemplateCurlyInString: how Grafana writes a variable.
      expect(datasource?.uid, title).toBe('${datasource}');
      for (const { expr } of targets)
        for (const [open, close] of ['()', '{}', '[]'])
          expect(expr.split(open as string).length, expr).toBe(expr.split(close as string).length);
    }
  });
});
