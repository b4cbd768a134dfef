import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRng } from '@millrace/foundation';
import { RAN_TO_ITS_END } from './matrix.js';
import type { Outcome, Scenario, Verdict } from './registry.js';

/**
 * Plays a scenario once in a folder of its own; one that throws is broken.
 * @param scale - 1 for the full run.
 */
export async function play(scenario: Scenario, seed: number, scale: number): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-chaos-'));
  const startedAt = performance.now();
  let verdicts: readonly Verdict[];
  try {
    verdicts = await scenario.run({ rng: seededRng(seed).fork(scenario.name), scale, folder });
  } catch (error) {
    const evidence = String((error as Error)?.stack ?? error);
    verdicts = [{ invariant: RAN_TO_ITS_END, held: false, evidence }];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return { scenario: scenario.name, seed, scale, durationMs: performance.now() - startedAt, verdicts };
}
