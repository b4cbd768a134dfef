import type { ButtonHTMLAttributes, ReactNode } from 'react';
import './button.css';
import { Icon, type IconName } from './icon.js';

/** A control that does something. */
export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** main: what most people want here; danger: what cannot be taken back. */
  readonly look?: 'plain' | 'main' | 'danger' | 'quiet';
  readonly icon?: IconName;
  /** Shows the icon alone; the children are its name. */
  readonly iconOnly?: boolean;
  readonly isBusy?: boolean;
}

/** A button. While it is busy it cannot be pressed again. */
export function Button({
  look = 'plain',
  icon,
  iconOnly = false,
  isBusy = false,
  children,
  ...rest
}: ButtonProps): ReactNode {
  const text = children as ReactNode;
  return (
    <button
      type="button"
      {...rest}
      className={`button ${look}${iconOnly ? ' icon-only' : ''}`}
      aria-busy={isBusy || undefined}
      disabled={rest.disabled || isBusy}
      {...(iconOnly && typeof text === 'string' && { title: text })}
    >
      {icon && <Icon name={icon} size={16} />}
      {iconOnly ? <span className="unseen">{text}</span> : text}
    </button>
  );
}
