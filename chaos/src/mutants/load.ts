/*
 * Runs beside a process and is asked for every module that it loads: that of the mutant is given changed.
 */

import { appendFileSync } from 'node:fs';
import type { InitializeHook, LoadHook } from 'node:module';
import { type Mutant, mutate } from './mutate.js';
import { witnessed } from './witness.js';

interface LoadParts {
  readonly mutant: Mutant;
  /** The URL of the file. */
  readonly target: string;
  readonly witness: string;
}

let parts: LoadParts | undefined;

/** Told once, by who registers it. */
export const initialize: InitializeHook<LoadParts> = (given) => {
  parts = given;
};

/** See `load` of node:module. */
export const load: LoadHook = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context);
  if (!parts || url !== parts.target) return loaded;
  const { mutant, witness } = parts;
  const source = witnessed(
    () => mutate(Buffer.from(loaded.source as Uint8Array).toString('utf8'), mutant),
    (line) => appendFileSync(witness, line),
  );
  return { ...loaded, source };
};
