import { createContext, type ReactNode, useCallback, useContext, useState } from 'react';
import { Button } from './button.js';
import './notices.css';

type Say = (tone: 'ok' | 'fail', text: string) => void;

const SayContext = createContext<Say>(() => {});

/** Says what came of something, in a corner; good news go by themselves. */
export const useSay = (): Say => useContext(SayContext);

interface Notice {
  readonly id: number;
  readonly tone: 'ok' | 'fail';
  readonly text: string;
}

const SHOWN_MS = 6_000;
const SHOWN_MAX = 4;

/** Shows what everything below it says. */
export function Notices({ children }: { readonly children: ReactNode }): ReactNode {
  const [notices, setNotices] = useState<readonly Notice[]>([]);
  const close = useCallback((id: number) => setNotices((all) => all.filter((one) => one.id !== id)), []);
  const say = useCallback<Say>(
    (tone, text) => {
      const id = performance.now() + Math.random();
      setNotices((all) => [...all.slice(1 - SHOWN_MAX), { id, tone, text }]);
      // Bad news stay until somebody has read them.
      if (tone === 'ok') setTimeout(() => close(id), SHOWN_MS);
    },
    [close],
  );
  return (
    <SayContext value={say}>
      {children}
      <section className="notices" aria-label="Notices" aria-live="polite">
        {notices.map(({ id, tone, text }) => (
          <div key={id} className={`notice ${tone}`}>
            <p>{text}</p>
            <Button look="quiet" icon="close" iconOnly onClick={() => close(id)}>
              Close this notice
            </Button>
          </div>
        ))}
      </section>
    </SayContext>
  );
}
