import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { PLAIN_SEEDS } from '../differential/chosen-seeds.js';
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
        expect(
          await firstFinding({ first: async (config) => openMemory(config), second }, PLAIN_SEEDS),
        ).toBeDefined();
      }, 60_000);
});
