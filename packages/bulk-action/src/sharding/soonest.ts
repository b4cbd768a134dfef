/**
 * When the first of several shards is worth another look.
 * @param answers - of all shards.
 * @returns nothing where none says when.
 */
export function soonest(answers: readonly { readonly nextInMs?: number | undefined }[]): {
  readonly nextInMs?: number;
} {
  const times = answers.flatMap(({ nextInMs }) => nextInMs ?? []);
  return times.length === 0 ? {} : { nextInMs: Math.min(...times) };
}
