import { type ReactNode, useState } from 'react';
import { Field } from './field.js';

/** A text to look for. */
export interface FilterFieldProps {
  readonly label: string;
  /** What is looked for now. */
  readonly value: string;
  readonly onTake: (value: string) => void;
  readonly maxLength?: number;
}

/** A text that is compared as a whole: it is looked for when it is complete, on Enter or on leaving it. */
export function FilterField({ label, value, onTake, maxLength = 255 }: FilterFieldProps): ReactNode {
  /** undefined: nobody types. */
  const [typed, setTyped] = useState<string | undefined>(undefined);
  const take = () => {
    if (typed !== undefined && typed.trim() !== value) onTake(typed.trim());
    setTyped(undefined);
  };
  return (
    <Field
      isBare
      type="search"
      label={label}
      placeholder={label}
      maxLength={maxLength}
      value={typed ?? value}
      onChange={({ target }) => setTyped(target.value)}
      onBlur={take}
      onKeyDown={({ key }) => {
        if (key === 'Enter') take();
        if (key === 'Escape') setTyped(undefined);
      }}
    />
  );
}
