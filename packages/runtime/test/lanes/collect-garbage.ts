import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Frees all that nothing refers to, now; a flag on Node's command line would have to be on Vitest's too. */
export const collectGarbage: () => void = runInNewContext('gc');
