import { type FormEvent, type ReactNode, useState } from 'react';
import type { KeyWanted } from '../data/session.js';
import wheel from '../look/wheel.svg';
import { Button } from '../parts/button.js';
import { Field } from '../parts/field.js';
import { problemText } from '../rules/problems.js';
import './entry.css';

/** Asks whoever is not let in for their key. */
export function KeyEntry({ problem, isTrying, give }: KeyWanted): ReactNode {
  const [key, setKey] = useState('');
  const [remember, setRemember] = useState(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (key.trim() !== '') give(key.trim(), { remember });
  };
  return (
    <main className="entry">
      <form className="entry-card" onSubmit={submit}>
        <img src={wheel} alt="" width={40} height={40} />
        <h1>Millrace</h1>
        <p className="quiet">
          This server lets in whoever has a key. It was given by whoever runs the server.
        </p>
        <Field
          label="API key"
          type="password"
          required
          value={key}
          onChange={(event) => setKey(event.target.value)}
        />
        <label className="row">
          <input type="checkbox" checked={remember} onChange={(event) => setRemember(event.target.checked)} />
          Remember it in this browser
        </label>
        {problem && (
          <p className="entry-problem" role="alert">
            {problemText(problem)}
          </p>
        )}
        <Button type="submit" look="main" isBusy={isTrying}>
          Open
        </Button>
      </form>
    </main>
  );
}

/** While nobody has answered. */
export function Awaiting({ error }: { readonly error: Error | undefined }): ReactNode {
  return (
    <main className="entry">
      <div className="entry-card" role={error ? 'alert' : 'status'}>
        <img src={wheel} alt="" width={40} height={40} />
        <h1>Millrace</h1>
        <p className="quiet">{error ? `${problemText(error)}` : 'Asking the server …'}</p>
      </div>
    </main>
  );
}
