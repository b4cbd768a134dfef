import type { ReactNode } from 'react';
import { Field } from '../parts/field.js';
import type { TypedLimits } from '../rules/limits.js';
import './limits-fields.css';

/** Weight and limits to be typed. */
export interface LimitsFieldsProps {
  readonly typed: TypedLimits;
  readonly onType: (typed: TypedLimits) => void;
  /** What the weight is against. */
  readonly weightHint: string;
  /** Other fields beside them. */
  readonly children?: ReactNode;
}

const NO_LIMIT = 'no limit';

/** Fields for a weight and limits; an empty one is no limit. */
export function LimitsFields({ typed, onType, weightHint, children }: LimitsFieldsProps): ReactNode {
  const field = (name: keyof TypedLimits) => ({
    type: 'number',
    inputMode: 'decimal' as const,
    value: typed[name],
    onChange: (event: { readonly target: { readonly value: string } }) =>
      onType({ ...typed, [name]: event.target.value }),
  });
  return (
    <div className="limits-fields">
      <Field label="Weight" {...field('weight')} min={0} step="any" required hint={weightHint} />
      {children}
      <Field
        label="Starts per second"
        {...field('rps')}
        min={0}
        step="any"
        placeholder={NO_LIMIT}
        hint="Empty is no limit"
      />
      <Field
        label="Burst"
        {...field('burst')}
        min={1}
        step={1}
        placeholder="a tenth of the rate"
        hint="Starts that may come at once"
      />
      <Field
        label="Jobs at once"
        {...field('concurrency')}
        min={1}
        step={1}
        placeholder={NO_LIMIT}
        hint="Ready or running"
      />
    </div>
  );
}
