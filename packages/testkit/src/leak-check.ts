/**
 * The part of the test kit that needs Vitest, apart from the rest so that programs without Vitest can use that.
 *
 * @packageDocumentation
 */
import { afterAll, beforeAll } from 'vitest';
import { type OpenResources, requireNoLeaks, settledResources } from './open-resources.js';

/**
 * Fails the test file when it leaves a timer, socket, server, child process … open. Called at the top of the file:
 * Vitest runs `afterAll` hooks in reverse, so everything the file closes is closed before this one looks.
 * @param options - `deadlineMs`: how long closing may take; 2000 unless given.
 */
export function leakCheck(options: { readonly deadlineMs?: number | undefined } = {}): void {
  let baseline: OpenResources = {};
  beforeAll(async () => {
    baseline = await settledResources();
  });
  afterAll(() => requireNoLeaks(baseline, options.deadlineMs));
}
