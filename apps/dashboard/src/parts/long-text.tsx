import { type ReactNode, useState } from 'react';
import { countText } from '../rules/amounts.js';
import { shownText, writtenJson } from '../rules/written-json.js';
import { Button } from './button.js';
import './long-text.css';

/** Characters that a list shows of one failure. */
const SHOWN_MAX = 300;

/** A text from outside, cut to 300 characters until the reader asks for all of it. */
export function LongText({ text }: { readonly text: string }): ReactNode {
  const [isWhole, setWhole] = useState(false);
  if (isWhole || text.length <= SHOWN_MAX) return <span>{shownText(text)}</span>;
  return (
    <>
      <span>{shownText(text.slice(0, SHOWN_MAX))}…</span>{' '}
      <Button look="quiet" onClick={() => setWhole(true)}>
        Show all {countText(text.length)} characters
      </Button>
    </>
  );
}

/** Data from outside as indented JSON, cut to 4,000 characters until the reader asks for all of it. */
export function JsonView({ value, label }: { readonly value: unknown; readonly label: string }): ReactNode {
  const [isWhole, setWhole] = useState(false);
  const { text, isCut, length } = writtenJson(value, isWhole ? Number.POSITIVE_INFINITY : undefined);
  return (
    <div className="json-view">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls. */}
      <section aria-label={label} tabIndex={0}>
        <pre>{text}</pre>
      </section>
      {isCut && (
        <Button onClick={() => setWhole(true)}>Show all {length.toLocaleString('en-GB')} characters</Button>
      )}
    </div>
  );
}
