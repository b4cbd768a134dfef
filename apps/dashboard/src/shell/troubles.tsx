import type { ReactNode } from 'react';
import { useHealth } from '../data/health.js';
import { useLive, useNow } from '../data/live.js';
import { clockText, durationText } from '../rules/times.js';

/** A short break is no trouble: every deployment has some. */
const PATIENCE_MS = 1_500;

/** What is down, and since when. It goes by itself when all is well again. */
export function Troubles(): ReactNode {
  const { status, since } = useLive();
  const { checks, awaySince } = useHealth();
  const now = useNow();
  const lostSince = status === 'lost' ? since : awaySince;
  const isAway = lostSince !== undefined && now - lostSince > PATIENCE_MS;
  const bad = checks?.filter(({ ok }) => !ok) ?? [];
  if (!isAway && bad.length === 0) return null;
  return (
    <div className="troubles" role="alert">
      {isAway && (
        <p>
          <b>The server does not answer</b> since {clockText(lostSince)} ({durationText(now - lostSince)}).
          What you see is from then; this page goes on by itself when it is back.
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
