import type { ValidDag } from './validate-dag.js';

/** Change it when the text of an unchanged DAG changes. Every DAG then gets a new version, which is harmless. */
const FORMAT = 'millrace dag 1';

/**
 * Returns all that is stored of a DAG as one text. It is the same for the same definition in any order, and different for
 * any other definition. Functions are not part of it.
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
      // Only for a handler of another DAG or key, so that the text of a DAG in code stays the same.
      ...(task.handler === undefined ? [] : [task.handler]),
    ]),
  );
  // Every line starts with its key, which is unique.
  return [FORMAT, ...lines.sort()].join('\n');
}
