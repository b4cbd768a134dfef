/**
 * The part of the test kit that needs Vitest. Programs without Vitest use the rest.
 *
 * @packageDocumentation
 */
import { afterAll, beforeAll } from 'vitest';
import { type OpenResources, requireNoLeaks, settledResources } from './open-resources.js';

/**
 * Fails the test file if it leaves a timer, socket, server or child process open. Call it at the top of the file: Vitest
 * runs `afterAll` hooks in reverse, so the file has closed its resources before this check.
 */
export function leakCheck(): void {
  let baseline: OpenResources = {};
  beforeAll(async () => {
    baseline = await settledResources();
  });
  afterAll(() => requireNoLeaks(baseline));
}
