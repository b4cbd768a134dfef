import type { ValidDag } from './validate-dag.js';

/** Changes when the text of an unchanged DAG does: then each gets a new version, which is harmless. */
const FORMAT = 'millrace dag 1';

/**
 * All that is stored of a DAG, as one text: the same for the same definition in whatever order it was written, and
 * different for any other. Functions are not part of it.
 */
export function definitionText({ tasks }: ValidDag): string {
  const lines = tasks.map((task) =>
    JSON.stringify([
      task.key,
      [...task.after].sort(),
      task.join,
      task.needed,
      task.mode,
      task.onFailure,
      task.when !== undefined,
      task.retry.retries,
      task.timeoutMs,
      task.backoffMs,
      // Only where it is another DAG's, or another key's: the text of a DAG in code stays what it was.
      ...(task.handler === undefined ? [] : [task.handler]),
    ]),
  );
  // Every line begins with its key, and no two tasks share one.
  return [FORMAT, ...lines.sort()].join('\n');
}
