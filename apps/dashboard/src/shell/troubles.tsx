import type { ReactNode } from 'react';
import { useHealth } from '../data/health.js';
import { useLive, useNow } from '../data/live.js';
import { clockText, durationText } from '../rules/times.js';

/** A short break is no trouble: every deployment has some. */
const PATIENCE_MS = 1_500;

/** What is down, and since when. It goes by itself when all is well again. */
export function Troubles(): ReactNode {
  const { status, since, problem, aheadMs } = useLive();
  const { checks, awaySince } = useHealth();
  const now = useNow();
  const lostSince = status === 'lost' ? since : awaySince;
  // By the clock of this browser, as what is told of it: the server's may be another.
  const passedMs = (from: number) => now - aheadMs - from;
  const awayMs = lostSince === undefined ? 0 : passedMs(lostSince);
  const isAway = lostSince !== undefined && awayMs > PATIENCE_MS;
  const isRefused = !isAway && status === 'refused' && passedMs(since) > PATIENCE_MS;
  const bad = checks?.filter(({ ok }) => !ok) ?? [];
  if (!isAway && !isRefused && bad.length === 0) return null;
  return (
    <div className="troubles" role="alert">
      {isAway && (
        <p>
          <b>The server does not answer</b> since {clockText(lostSince)} ({durationText(awayMs)}). What you
          see is from then; this page goes on by itself when it is back.
        </p>
      )}
      {isRefused && (
        <p>
          <b>This page is not told of changes</b> since {clockText(since)}: {problem}. What you see may be
          old; it is tried again by itself.
        </p>
      )}
      {!isAway &&
        bad.map(({ name, message, since: from }) => (
          <p key={name}>
            <b>{name} is not well</b>
            {from && ` since ${clockText(from)} (${durationText(now - Date.parse(from))})`}
            {message && `: ${message}`}
          </p>
        ))}
    </div>
  );
}
