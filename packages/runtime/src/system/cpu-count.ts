import { availableParallelism } from 'node:os';

/** How many processors this process may use: a container's limit counts, not the machine. */
export const cpuCount = (): number => availableParallelism();
