import type { ReactNode } from 'react';
import { TRAIL_MS, type TrailPoint } from '../../rules/seen-tenants.js';

/** What somebody got in the last minute. */
export interface ShareTrailProps {
  readonly trail: readonly TrailPoint[];
  /** The end of the minute, in milliseconds since 1970. */
  readonly at: number;
  /** The share at the upper edge. */
  readonly scale: number;
}

const WIDTH = 120;
const HEIGHT = 28;

/** A share over the last minute as a hill, its fair share as a line over it; for eyes only, the numbers stand beside it. */
export function ShareTrail({ trail, at, scale }: ShareTrailProps): ReactNode {
  const x = (point: TrailPoint) => (((point.at - at + TRAIL_MS) / TRAIL_MS) * WIDTH).toFixed(1);
  const y = (part: number) => (HEIGHT - 1 - Math.min(1, part / scale) * (HEIGHT - 2)).toFixed(1);
  const [first] = trail;
  if (!first) return null;
  const top = trail.map((point) => `L${x(point)} ${y(point.share)}`).join('');
  const fair = trail
    .map(
      (point, index) =>
        `${index === 0 ? 'M' : 'H'}${x(point)} ${index === 0 ? '' : 'V'}${y(point.fairShare)}`,
    )
    .join('');
  return (
    <svg
      className="groups-trail"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path className="groups-trail-hill" d={`M${x(first)} ${HEIGHT}${top}V${HEIGHT}Z`} />
      <path className="groups-trail-top" d={`M${top.slice(1)}`} />
      <path className="groups-trail-fair" d={fair} />
    </svg>
  );
}
