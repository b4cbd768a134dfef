import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { HELD_BACK } from '../differential/cases.js';
import { PLAIN_SEEDS } from '../differential/chosen-seeds.js';
import { type Finding, type Pair, replay } from '../differential/compare.js';
import { firstFinding } from '../differential/suite.js';
import { openMemory } from '../memory/open-memory.js';
import { clockedScripts, closeRedis, openRedis } from './redis-fixture.js';

afterAll(closeRedis);

/** Lines of the Lua files that do again what others do, for usual jobs alone; each stands there once. */
const LINES: Readonly<Record<string, readonly (readonly [line: string, instead: string])[]>> = {
  'usual-turns': [
    ['t[F.virtual] = math.max(t[F.virtual], groupStart)', ''],
    [
      'g[G_EPOCH], g[G_FINISH] = t[F.vepoch], groupStart + 1 / weight',
      'g[G_EPOCH], g[G_FINISH] = t[F.vepoch], groupStart + 1',
    ],
    ['if F == NAMED then weight = t.own and weight * t.weight or t.weight end', ''],
    ['t[F.served] = t[F.served] + 1', ''],
    ['S.laneGroups = S.laneGroups - 1', ''],
    ['if slotOf(bucket, 1, S.readyCost) > atUs then return started, false end', ''],
    ['if t.fg > 0 then return put(free, top, t.start) end', ''],
    ['g[G_PROGRESS_AT] = atMs', ''],
    ['return t and not t.rps and not t.concurrency and t or nil', 'return t'],
  ],
  'usual-adds': [
    [
      "if g[G_REST] ~= '' or g[G_SEALED] == 1 or hasEnded(STATUSES[g[G_STATUS]]) then return nil end",
      "if g[G_REST] ~= '' then return nil end",
    ],
    [
      'if t and not t.concurrency and not t.parked then return g, t, NAMED end',
      'if t then return g, t, NAMED end',
    ],
    ['if string.byte(body) ~= 10 then return nil end', ''],
    ['if not known[(at - first) / 2 + 1] and not seen[id] then', 'if not seen[id] then'],
    ['seen[id] = true', ''],
    ['t.records, t.open = t.records + 1, t.open + 1', ''],
    ["redis.call('SADD', base .. 'tenants', d.tenantId)", ''],
    ["redis.call('ZADD', base .. 'watch', atMs + d.timeoutMs, d.key)", ''],
    ['t.fg = t.fg + 1', ''],
    ['if not t.own then put(groupsOf(t.id), memberOf(g[G_SEQ], key), g[G_START]) end', ''],
    [
      'g[G_START] = math.max(t[F.virtual], g[G_EPOCH] == t[F.vepoch] and g[G_FINISH] or 0)',
      'g[G_START] = t[F.virtual]',
    ],
    [
      't[F.start] = math.max(S.virtual, t[F.epoch] == S.vepoch and t[F.finish] or 0)',
      't[F.start] = S.virtual',
    ],
    ['S.laneGroups = S.laneGroups + 1', ''],
    ['g[G_PROGRESS_AT] = atMs', ''],
    ['if F == NAMED then t.laneJobs, t.pending = t.laneJobs + n, t.pending + n end', ''],
    [
      'if #C.limited > 0 or S.lines or #ARGV < first then return nil end',
      'if #ARGV < first then return nil end',
    ],
    ['or isFull(F == NAMED and t.pending or g[G_PENDING], #ids + math.max(0, later))', ''],
    [
      "if d.level ~= 'normal' or d.rps or d.burst or d.concurrency or d.deadline or d.trace ~= '' or Homes.claimOn(d.key) then return nil end",
      '',
    ],
    [
      'if t and not t.own and t.records > 0 and not t.concurrency and not t.parked then return g, t, NAMED end',
      'if t then return g, t, NAMED end',
    ],
  ],
  'usual-ends': [
    [
      'if not g[G_OWNER] then t.inFlight, t.running, t.held = t.inFlight - 1, t.running - 1, t.held - 1 end',
      '',
    ],
    ['g[G_DC], g[G_DS] = g[G_DC] + 1, g[G_DS] + ms', ''],
    ['dropFlight(name)', ''],
    ['local isLast = g[G_SEALED] == 1 and g[G_PENDING] + g[G_IN_FLIGHT] <= 1', 'local isLast = false'],
    ['countEventsAt(g, G_WA, G_WC, G_WP, G_WF, 1)', ''],
    ['if S.laneJobs > 0 or S.held > 0 then return end', 'if S.laneJobs >= 0 then return end'],
  ],
  usual: [
    ['values[n + 1], values[n + 2] = key, value .. g[G_REST]', 'values[n + 1], values[n + 2] = key, value'],
  ],
};

const without = (file: string, line: string, instead: string): string => {
  const text = readFileSync(new URL(`../../lua/${file}.lua`, import.meta.url), 'utf8');
  expect(text.split(line)).toHaveLength(2);
  return text.replace(line, instead);
};

describe('bulk-action BA-15: the comparison with memory notices, of what is done for usual jobs alone,', () => {
  for (const [file, lines] of Object.entries(LINES))
    for (const [line, instead] of lines)
      it(`another ${line}`, async () => {
        const scripts = clockedScripts({ [file]: without(file, line, instead) });
        const second = (config?: Parameters<typeof openRedis>[0]) => openRedis(config, scripts);
        const pair: Pair = { first: async (config) => openMemory(config), second };
        let found: Finding | undefined;
        for (const { world, commands } of HELD_BACK)
          found ??= await replay(pair, { seed: 0, world }, commands);
        expect(found ?? (await firstFinding(pair, PLAIN_SEEDS, { atOnce: 1 }))).toBeDefined();
      }, 60_000);
});
