import { type FormEvent, type ReactNode, useId, useLayoutEffect, useRef } from 'react';
import { Button } from './button.js';
import './dialog.css';

/** Something to be decided before anything else. */
export interface DialogProps {
  readonly title: string;
  readonly children: ReactNode;
  /** What the button says that does it, with what it is about: `Redrive 2,000`. */
  readonly confirm: string;
  readonly look?: 'main' | 'danger';
  /** What the button says that leaves everything as it is. */
  readonly dismiss?: string;
  readonly isBusy?: boolean;
  /** What went wrong; shown where it was decided. */
  readonly problem?: string | undefined;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** A modal dialog: the browser keeps the focus in it, Escape closes it. */
export function Dialog({
  title,
  children,
  confirm,
  look = 'main',
  dismiss = 'Cancel',
  isBusy = false,
  problem,
  onConfirm,
  onClose,
}: DialogProps): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Closed before it is taken out of the page: only then the browser gives the focus back to where it was.
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  // React opens it twice while it is developed: the first one's end is told when the second is there.
  const closed = () => {
    if (!dialog.current?.open) onClose();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!isBusy) onConfirm();
  };
  return (
    <dialog ref={dialog} className="dialog" aria-labelledby={id} onClose={closed} onCancel={onClose}>
      <form onSubmit={submit} noValidate={false}>
        <h2 id={id}>{title}</h2>
        <div className="dialog-body">{children}</div>
        {problem && (
          <p className="dialog-problem" role="alert">
            {problem}
          </p>
        )}
        <footer className="row">
          <Button onClick={onClose}>{dismiss}</Button>
          <Button type="submit" look={look} isBusy={isBusy}>
            {confirm}
          </Button>
        </footer>
      </form>
    </dialog>
  );
}
