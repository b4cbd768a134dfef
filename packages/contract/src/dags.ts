import { z } from 'zod';
import { count, pageOf, paging, storableText, time } from './fields.js';

const mode = z.enum(['transactional', 'external']);
const onFailure = z.enum(['fail', 'skip', 'continue']);
const join = z.union([z.enum(['all', 'any', 'all-done']), z.strictObject({ atLeast: z.int().min(1) })]);

/** One step of a DAG that is applied. Unknown fields are refused. */
export const DagTaskRequest = z.strictObject({
  handler: z
    .string()
    .optional()
    .describe('`dag.key` of a handler of the application; of the same DAG and key unless given.'),
  after: z.array(z.string()).optional().describe('Keys of what it depends on; none for a root.'),
  join: join.optional().describe('When it may start, seen from what it depends on; all unless given.'),
  mode: mode.optional().describe('That of its handler, which no data can change.'),
  onFailure: onFailure.optional().describe('What its failure means for the rest; fail unless given.'),
  timeoutMs: z.number().optional().describe('Of one try; as its handler has it unless given.'),
  retries: z.int().min(0).optional().describe('Tries after the first; as its handler has it unless given.'),
  backoffMs: z.number().optional().describe('Before the first retry; as its handler has it unless given.'),
});

/** A DAG to apply. Unknown fields are refused. */
export const ApplyDagRequest = z.strictObject({
  name: storableText(100).describe('Without . and /.'),
  tasks: z.record(z.string(), DagTaskRequest).describe('The steps by key.'),
});
/** A DAG to apply. */
export type ApplyDagRequest = z.infer<typeof ApplyDagRequest>;

/** The answer to an apply. */
export const AppliedDagBody = z.object({
  name: z.string(),
  version: z.int(),
  taskCount: count,
  created: z.boolean().describe('false: this very definition was stored already.'),
});
/** The answer to an apply. */
export type AppliedDagBody = z.infer<typeof AppliedDagBody>;

/** A stored DAG, in the version that new batches take. */
export const DagBody = z.object({
  name: z.string(),
  version: z.int(),
  applied: z.boolean().describe('Applied as data, and in force for all instances.'),
  registeredAt: time,
  taskCount: count,
  tasks: z
    .array(
      z.object({
        key: z.string(),
        handler: z.string().describe('`dag.key` of what runs it.'),
        mode,
        join: z.union([z.enum(['all', 'any', 'all-done']), z.object({ atLeast: z.int() })]),
        onFailure,
        conditional: z.boolean().describe('Its handler has a condition.'),
        timeoutMs: z.number(),
        attemptsMax: count.describe('Tries in all.'),
        backoffMs: z.number(),
        after: z
          .array(z.string())
          .nullable()
          .describe('Keys of what it depends on; null: the DAG has too many edges to list.'),
      }),
    )
    .describe('The first thousand, each after what it depends on.'),
});
/** A stored DAG, in the version that new batches take. */
export type DagBody = z.infer<typeof DagBody>;

/** What the list of DAGs may be asked. Unknown parameters are refused. */
export const DagListQuery = z.strictObject(paging);

/** A part of the list of DAGs, by name. */
export const DagPage = pageOf(DagBody);
/** A part of the list of DAGs, by name. */
export type DagPage = z.infer<typeof DagPage>;
