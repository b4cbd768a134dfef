import { BULK_MUTANTS } from './bulk-mutants.js';
import type { Mutant } from './mutate.js';
import { POSTGRES_MUTANTS } from './postgres-mutants.js';
import { RUNTIME_MUTANTS } from './runtime-mutants.js';

/** All protections that are taken out, in the order in which they are played. */
export const MUTANTS: readonly Mutant[] = [...RUNTIME_MUTANTS, ...BULK_MUTANTS, ...POSTGRES_MUTANTS];
