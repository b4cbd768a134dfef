import type { ResponseOf } from '@millrace/contract/server-client';

type Point = ResponseOf<'getGroupProgress'>['points'][number];

/** How far a group was, as lines of a chart. */
export interface ProgressLines {
  /** Seconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly success: readonly number[];
  readonly failed: readonly number[];
  readonly inFlight: readonly number[];
  readonly registered: readonly number[];
}

/** A gap this many times the usual one is a rest, not a slow rise. */
const REST_FROM = 3;

/**
 * Points of progress as lines. Points are written down where something changed only: a long time without one was a
 * time without progress, and is drawn so.
 */
export function progressLines(points: readonly Point[]): ProgressLines {
  const drawn = withRests(inOrder(points));
  return {
    times: drawn.map(({ seconds }) => seconds),
    success: drawn.map(({ point }) => point.success),
    failed: drawn.map(({ point }) => point.failed),
    inFlight: drawn.map(({ point }) => point.inFlight),
    registered: knownFromStart(drawn.map(({ point }) => point.registered)),
  };
}

/** Jobs come in with the group, a moment after its start: not evenly until the next point. */
const knownFromStart = (counts: readonly number[]): readonly number[] =>
  counts.map((count, index) => (index === 0 && count === 0 ? (counts[1] ?? 0) : count));

interface Placed {
  readonly seconds: number;
  readonly point: Point;
}

/** Of two points of one instant the later one counts: a chart has one value for a time. */
function inOrder(points: readonly Point[]): readonly Placed[] {
  const placed: Placed[] = [];
  for (const point of points) {
    const seconds = Date.parse(point.at) / 1000;
    const last = placed.at(-1);
    if (last && seconds <= last.seconds) placed[placed.length - 1] = { seconds: last.seconds, point };
    else placed.push({ seconds, point });
  }
  return placed;
}

function withRests(placed: readonly Placed[]): readonly Placed[] {
  const gaps = placed.slice(1).map(({ seconds }, index) => seconds - (placed[index] as Placed).seconds);
  const usual = [...gaps].sort((one, other) => one - other)[Math.floor((gaps.length - 1) / 2)];
  if (usual === undefined) return placed;
  return placed.flatMap((one, index) => {
    const before = placed[index - 1];
    if (!before || one.seconds - before.seconds <= usual * REST_FROM) return [one];
    return [{ seconds: one.seconds - usual, point: before.point }, one];
  });
}
