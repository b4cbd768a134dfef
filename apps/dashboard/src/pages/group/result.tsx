import type { GroupBody, GroupResultBody } from '@millrace/contract';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { useAsk } from '../../data/ask.js';
import { useFilters } from '../../data/filters.js';
import { Card } from '../../parts/card.js';
import { Choice } from '../../parts/field.js';
import { JsonView } from '../../parts/long-text.js';
import { ProblemNote } from '../../parts/said.js';
import { Facts } from '../../parts/stat.js';
import { Status } from '../../parts/status.js';
import { Ago } from '../../parts/when.js';
import { counted, countText, percentText } from '../../rules/amounts.js';
import { hrefOf } from '../../rules/hrefs.js';
import { durationText } from '../../rules/times.js';
import { shownText } from '../../rules/written-json.js';

/** What came of the rounds of a group that have ended. */
export function GroupResult({
  group,
  rounds,
}: {
  readonly group: GroupBody;
  readonly rounds: readonly number[];
}): ReactNode {
  const { values, set } = useFilters('round');
  const [last = 1] = rounds;
  const round = rounds.find((one) => String(one) === values.round) ?? last;
  const { data, error } = useAsk(
    'getGroupResult',
    { params: { groupId: group.id }, query: { round } },
    { keepsShown: false },
  );
  return (
    <Card
      title={rounds.length > 1 ? `Result of round ${data?.round ?? round}` : 'Result'}
      note={data && (data.message ? shownText(data.message) : undefined)}
      aside={
        <>
          {rounds.length > 1 && (
            <Choice
              label="Round"
              value={String(round)}
              options={rounds.map((one) => [String(one), `Round ${one}`])}
              onChoose={(chosen) => set({ round: chosen === String(last) ? '' : chosen })}
            />
          )}
          {data && <Status status={data.status} />}
        </>
      }
    >
      {error && !data && <ProblemNote error={error} />}
      <div className="group-result">{data && <Outcome result={data} />}</div>
    </Card>
  );
}

function Outcome({ result }: { readonly result: GroupResultBody }): ReactNode {
  const { durations, data, code, resultsDropped } = result;
  return (
    <div className="stack">
      <Facts
        facts={[
          code !== null && ['Failed as', <code key="code">{shownText(code)}</code>],
          ['Success rate', percentText(result.successRate)],
          ['Succeeded', countText(result.success)],
          ['Failed', countText(result.failed)],
          ['Cancelled', countText(result.cancelled)],
          ['Lasted', durationText(result.durationMs)],
          ['Ended', <Ago key="ended" at={result.endedAt} />],
          ['A try took, p50', durationText(durations.count > 0 ? durations.p50 : null)],
          ['p95', durationText(durations.count > 0 ? durations.p95 : null)],
          ['p99', durationText(durations.count > 0 ? durations.p99 : null)],
          resultsDropped > 0 && ['Results too large to keep', countText(resultsDropped)],
        ]}
      />
      <FailedByCode result={result} />
      <Numbers numbers={result.numbers} />
      {data !== null && data !== undefined && (
        <div className="group-part">
          <h3>Data</h3>
          <JsonView value={data} label="Data of the result" />
        </div>
      )}
    </div>
  );
}

/** Jobs that are named for a code; the server names the first that failed. */
const NAMED_MAX = 3;

function FailedByCode({ result }: { readonly result: GroupResultBody }): ReactNode {
  const codes = Object.entries(result.failedByCode).sort(([, one], [, other]) => other - one);
  if (codes.length === 0) return null;
  return (
    <div className="group-part">
      <h3>Failed by code</h3>
      <ul className="group-codes">
        {codes.map(([code, count]) => (
          <li key={code}>
            <span className="number tone-fail">{countText(count)}</span>
            <code>{shownText(code)}</code>
            <span className="small quiet">
              {result.failedJobs
                .filter((job) => job.code === code)
                .slice(0, NAMED_MAX)
                .map(({ jobId, message }) => (
                  <Link
                    key={jobId}
                    href={hrefOf('job', { groupId: result.groupId, jobId })}
                    title={shownText(message)}
                  >
                    {shownText(jobId)}
                  </Link>
                ))}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Numbers({ numbers }: Pick<GroupResultBody, 'numbers'>): ReactNode {
  const names = Object.entries(numbers);
  if (names.length === 0) return null;
  return (
    <div className="group-part">
      <h3>Numbers</h3>
      <Facts
        facts={names.map(([name, { count, sum, min, max }]) => [
          shownText(name),
          <span key={name} className="number">
            {countText(sum)} in all
            <span className="quiet small group-number-note">
              {countText(min)} to {countText(max)} in {counted(count, 'result')}
            </span>
          </span>,
        ])}
      />
    </div>
  );
}
