/** Of a leased job: key, job and token. */
const BRIEF_FIELDS = 3;

/** Enough of an answer to tell two runs apart and to follow one; payloads and views would only make it slow. */
export function brief(answer: unknown): string {
  if (typeof answer !== 'object' || answer === null) return String(answer);
  if (Array.isArray(answer)) return `[${answer.map(brief).join(' ')}]`;
  return Object.entries(answer)
    .slice(0, BRIEF_FIELDS)
    .map(([name, value]) => `${name}: ${brief(value)}`)
    .join(', ');
}
