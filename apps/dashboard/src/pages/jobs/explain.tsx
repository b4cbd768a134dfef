import type { ReactNode } from 'react';
import { useLive, useNow } from '../../data/live.js';
import { Status } from '../../parts/status.js';
import { countText } from '../../rules/amounts.js';
import { type Explanation, gateDetail, gateText, isWaiting } from '../../rules/gates.js';
import { untilText } from '../../rules/times.js';
import { shownText } from '../../rules/written-json.js';
import './explain.css';

/** Why a job does not run. */
export interface ExplainProps {
  readonly explanation: Explanation;
  /** When it was answered, by the clock of this browser, in milliseconds since 1970. */
  readonly answeredAt: number;
}

/** Everything that holds a job back, in the order in which it meets it; who comes first, and when it runs. */
export function Explain({ explanation, answeredAt }: ExplainProps): ReactNode {
  const { gates, etaMs } = explanation;
  const now = useNow();
  const { aheadMs } = useLive();
  const passedMs = Math.max(0, now - aheadMs - answeredAt);
  const left = (ms: number | null) => (ms === null ? null : ms - passedMs);
  return (
    <div className="explain">
      {gates.length === 0 ? (
        <p className="explain-free tone-run">Nothing holds it: it starts at any moment.</p>
      ) : (
        <ol className="explain-gates" aria-label="What holds it back">
          {gates.map((gate, index) => (
            <GateStep
              key={gate.gate}
              gate={gate}
              explanation={explanation}
              isFirst={index === 0}
              opensInMs={left(gate.opensInMs)}
            />
          ))}
          {isWaiting(explanation) && <EndStep etaMs={left(etaMs)} />}
        </ol>
      )}
      {isWaiting(explanation) && <Position position={explanation.position} />}
    </div>
  );
}

interface GateStepProps {
  readonly gate: Explanation['gates'][number];
  readonly explanation: Explanation;
  readonly isFirst: boolean;
  readonly opensInMs: number | null;
}

function GateStep({ gate, explanation, isFirst, opensInMs }: GateStepProps): ReactNode {
  const { status } = explanation.job;
  const { name, advice, tone } = gateText(gate.gate, status);
  const isHeld = isWaiting(gate);
  return (
    <li className={`explain-step${isFirst ? ` is-first tone-bg-${tone}` : ''}`}>
      <span className={`explain-mark ${isFirst ? `fill-${tone}` : ''}`} aria-hidden="true" />
      <div className="explain-words">
        <h3>{shownText(name)}</h3>
        <p>{shownText(gateDetail(gate, explanation))}</p>
        {advice && isHeld && <p className="small explain-advice">{advice}</p>}
      </div>
      <div className="explain-aside small">
        {isFirst && isHeld && <span className="explain-now">holds it now</span>}
        {isHeld && (
          <span className="number">
            {opensInMs === null ? 'not known when it opens' : `opens ${untilText(opensInMs)}`}
          </span>
        )}
        {gate.gate === 'DONE' && <Status status={status} />}
      </div>
    </li>
  );
}

function EndStep({ etaMs }: { readonly etaMs: number | null }): ReactNode {
  return (
    <li className="explain-step explain-end">
      <span className="explain-mark" aria-hidden="true" />
      <div className="explain-words">
        <h3>It runs</h3>
      </div>
      <div className="explain-aside small">
        <span className="number">{etaMs === null ? 'not known when' : `probably ${untilText(etaMs)}`}</span>
      </div>
    </li>
  );
}

const AHEAD = [
  ['jobsAhead', 'of its group'],
  ['groupsAhead', 'of its tenant'],
  ['tenantsAhead', 'in all'],
] as const;
const AHEAD_NAMES = { jobsAhead: 'Jobs', groupsAhead: 'Groups', tenantsAhead: 'Tenants' } as const;

function Position({ position }: Pick<Explanation, 'position'>): ReactNode {
  return (
    <dl className="explain-position" aria-label="Who comes first">
      {AHEAD.map(([key, where]) => (
        <div key={key}>
          <dt>
            {AHEAD_NAMES[key]} ahead <span className="quiet">{where}</span>
          </dt>
          <dd className="number">{countText(position[key])}</dd>
        </div>
      ))}
    </dl>
  );
}
