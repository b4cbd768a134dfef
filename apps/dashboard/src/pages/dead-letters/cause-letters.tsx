import { type ReactNode, useRef } from 'react';
import { Link } from 'wouter';
import { useAsk } from '../../data/ask.js';
import { LongText } from '../../parts/long-text.js';
import { PageHead } from '../../parts/page-head.js';
import { Facts } from '../../parts/stat.js';
import { Ago } from '../../parts/when.js';
import { countText, NOTHING, percentText } from '../../rules/amounts.js';
import { CAUSES_MAX, causeName, causeParts, causeShare, failuresOf } from '../../rules/causes.js';
import { causeSelection } from '../../rules/dead-letter-moves.js';
import { hrefOf } from '../../rules/hrefs.js';
import { shownText } from '../../rules/written-json.js';
import type { CauseBlockProps } from './cause-block.js';
import { Letters, type LettersProps } from './letters.js';
import { MoveButtons } from './move-buttons.js';

/** One error with all its letters. */
export function CauseLetters({ signature, groupId, ask }: LettersProps): ReactNode {
  const { data } = useAsk('listDeadLetters', { query: { groupBy: 'signature', groupId, limit: CAUSES_MAX } });
  const causes = data?.signatures;
  const cause: CauseBlockProps['cause'] | undefined = causes?.find((one) => one.signature === signature);
  const all = causes && failuresOf(causes);
  const last = useRef(cause);
  if (cause) last.current = cause;
  // One that is gone keeps its name: whoever has just moved its letters still looks at it.
  const known = last.current?.signature === signature ? last.current : undefined;
  const parts = causeParts(known ?? { signature });
  const count = cause?.count ?? (all === undefined ? undefined : 0);
  return (
    <>
      <PageHead
        title={shownText(causeName(parts))}
        above={[['Dead letters', hrefOf('deadLetters', undefined, { groupId })]]}
      >
        {cause && (
          <MoveButtons
            selection={causeSelection(signature, groupId)}
            count={cause.count}
            ask={ask}
            which="all"
            of="of this error"
          />
        )}
      </PageHead>
      <section className="card dead-letters-about" aria-label="The error">
        <p className="mono dead-letters-message">
          <LongText text={parts.message} />
        </p>
        <Facts
          facts={[
            [
              'Failures',
              <span key="count" className={count ? 'number tone-fail' : 'number'}>
                {countText(count)}
              </span>,
            ],
            [
              groupId === undefined ? 'Share of all' : 'Share of the group',
              cause && all !== undefined ? percentText(causeShare(cause.count, all)) : NOTHING,
            ],
            ['Last', <Ago key="last" at={cause?.lastFailedAt ?? null} />],
            ['First', <Ago key="first" at={cause?.firstFailedAt ?? null} />],
            parts.processorType !== undefined && [
              'Processor',
              <code key="type">{shownText(parts.processorType)}</code>,
            ],
            groupId !== undefined && [
              'Of group',
              <Link key="group" className="mono" href={hrefOf('group', { groupId })}>
                {shownText(groupId)}
              </Link>,
            ],
          ]}
        />
      </section>
      <Letters signature={signature} groupId={groupId} ask={ask} />
    </>
  );
}
