import type { Tone } from './tones.js';

/** Shares are measured over seconds: nobody gets exactly theirs. Below this part of it somebody should look. */
const SERVED_FROM = 0.75;
/** Shares so small are mostly rounding. */
const SMALL = 0.005;

/**
 * What a share means. More than the fair one is nobody's loss: it is what others leave.
 * @param share - what somebody gets, 0 to 1.
 * @param fairShare - what is theirs; 0: they want nothing.
 */
export const shareTone = (share: number, fairShare: number): Tone =>
  fairShare > SMALL && share < fairShare * SERVED_FROM ? 'hold' : 'run';

/** Somebody with a share. */
export interface Shared {
  readonly share: number;
  readonly fairShare: number;
  readonly pending: number;
  readonly inFlight: number;
}

/** The scale that the bars of many have together. */
export const longestShare = (all: readonly Pick<Shared, 'share' | 'fairShare'>[]): number =>
  all.reduce((longest, { share, fairShare }) => Math.max(longest, share, fairShare), 0);

/** Whether somebody wants something now. */
export const wants = ({ pending, inFlight }: Pick<Shared, 'pending' | 'inFlight'>): boolean =>
  pending + inFlight > 0;
