import { type InputHTMLAttributes, type ReactNode, useId } from 'react';
import './field.css';

/** A named place to type. */
export interface FieldProps extends InputHTMLAttributes<HTMLInputElement> {
  readonly label: string;
  /** What may stand there, or what it means. */
  readonly hint?: ReactNode;
  /** The label is read, not shown; for filters whose place says what they are. */
  readonly isBare?: boolean;
}

/** A text or a number to type. */
export function Field({ label, hint, isBare = false, ...rest }: FieldProps): ReactNode {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id} className={isBare ? 'unseen' : 'field-label'}>
        {label}
      </label>
      <input
        id={id}
        autoComplete="off"
        spellCheck={false}
        {...rest}
        aria-describedby={hint ? `${id}-hint` : undefined}
      />
      {hint && (
        <p id={`${id}-hint`} className="small quiet">
          {hint}
        </p>
      )}
    </div>
  );
}

/** One of a few. */
export interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChoose: (value: string) => void;
  readonly isBare?: boolean;
}

/** One of a few, in a list. */
export function Choice({ label, value, options, onChoose, isBare = true }: ChoiceProps): ReactNode {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id} className={isBare ? 'unseen' : 'field-label'}>
        {label}
      </label>
      <select id={id} value={value} onChange={(event) => onChoose(event.target.value)}>
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

/** One of very few, side by side. */
export function Segments({ label, value, options, onChoose }: Omit<ChoiceProps, 'isBare'>): ReactNode {
  const name = useId();
  return (
    <fieldset className="segments">
      <legend className="unseen">{label}</legend>
      {options.map(([option, text]) => (
        <label key={option} className={option === value ? 'chosen' : ''}>
          <input
            className="unseen"
            type="radio"
            name={name}
            value={option}
            checked={option === value}
            onChange={() => onChoose(option)}
          />
          {text}
        </label>
      ))}
    </fieldset>
  );
}
