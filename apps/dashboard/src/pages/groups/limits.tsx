import type { ReactNode } from 'react';
import { NOTHING } from '../../rules/amounts.js';
import { Two } from './two.js';

/** Limits in the two lines of a cell; where there are more, all of them on hovering. */
export function Limits({ texts }: { readonly texts: readonly string[] }): ReactNode {
  const [first = NOTHING, ...others] = texts;
  const line = <span className="small">{first}</span>;
  if (others.length === 0) return line;
  return (
    <div title={texts.join(', ')}>
      <Two first={line} second={others.at(-1)} />
    </div>
  );
}
