import { type ReactNode, useState } from 'react';
import { Button } from './button.js';
import './copyable.css';

const SAID_MS = 1_500;

/** A text to be taken along: an id, a command. */
export function Copyable({
  text,
  label,
  isBlock = false,
  isBare = false,
}: {
  readonly text: string;
  readonly label: string;
  readonly isBlock?: boolean;
  /** The button alone, where the text stands beside it. */
  readonly isBare?: boolean;
}): ReactNode {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), SAID_MS);
  };
  // Browsers let pages copy only where the connection is safe.
  const canCopy = 'clipboard' in navigator;
  const Text = isBlock ? 'pre' : 'code';
  return (
    <span className={isBlock ? 'copyable block' : 'copyable'}>
      {!isBare && <Text>{text}</Text>}
      {canCopy && (
        <Button look="quiet" icon="copy" iconOnly onClick={() => void copy().catch(() => {})}>
          {isCopied ? 'Copied' : `Copy ${label}`}
        </Button>
      )}
    </span>
  );
}
