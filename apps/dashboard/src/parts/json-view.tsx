import { type ReactNode, useState } from 'react';
import { writtenJson } from '../rules/written-json.js';
import { Button } from './button.js';
import './json-view.css';

/** Data from outside, as text and nothing but text. Long ones are cut until somebody wants all of it. */
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
