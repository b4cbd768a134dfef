import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { useLive } from '../data/live.js';
import { useSession } from '../data/session.js';
import { chooseTheme, type ThemeChoice, useThemeChoice } from '../look/theme.js';
import wheel from '../look/wheel.svg';
import { Button } from '../parts/button.js';
import type { IconName } from '../parts/icon.js';
import { Nav } from './nav.js';
import './shell.css';
import { Troubles } from './troubles.js';

/** What is around every view: the ways, the state of the connection, who looks. */
export function Shell({ children }: { readonly children: ReactNode }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const [location] = useLocation();
  const isFirst = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever another view is shown.
  useEffect(() => {
    setOpen(false);
    if (!isFirst.current) scrollTo(0, 0);
    isFirst.current = false;
  }, [location]);
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to the view
      </a>
      <header className="bar">
        <Button
          look="quiet"
          icon={isOpen ? 'close' : 'menu'}
          iconOnly
          aria-expanded={isOpen}
          aria-controls="side"
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? 'Close the menu' : 'Open the menu'}
        </Button>
        <Brand />
        <LiveMark />
      </header>
      <aside id="side" className={isOpen ? 'side open' : 'side'}>
        <div className="side-brand">
          <Brand />
        </div>
        <Nav />
        <div className="side-foot">
          <div className="row spread">
            <span className="side-live">
              <LiveMark />
            </span>
            <ThemeSwitch />
          </div>
          <Who />
        </div>
      </aside>
      <main id="main" tabIndex={-1}>
        <Troubles />
        {children}
      </main>
    </div>
  );
}

function Brand(): ReactNode {
  return (
    <Link className="brand" href="/">
      <img src={wheel} alt="" width={26} height={26} />
      Millrace
    </Link>
  );
}

const LIVE_TEXTS = {
  live: 'Live',
  connecting: 'Connecting',
  lost: 'No connection',
  refused: 'Not live',
  paused: 'Paused',
} as const;

function LiveMark(): ReactNode {
  const { status } = useLive();
  return (
    <span className={`live-mark ${status}`} role="status">
      <span className="live-dot" aria-hidden="true" />
      {LIVE_TEXTS[status]}
    </span>
  );
}

const NEXT_THEME: Readonly<
  Record<ThemeChoice, { readonly to: ThemeChoice; readonly icon: IconName; readonly name: string }>
> = {
  system: { to: 'light', icon: 'screen', name: 'Theme of this machine; change to light' },
  light: { to: 'dark', icon: 'sun', name: 'Light theme; change to dark' },
  dark: { to: 'system', icon: 'moon', name: 'Dark theme; change to that of this machine' },
};

function ThemeSwitch(): ReactNode {
  const { to, icon, name } = NEXT_THEME[useThemeChoice()];
  return (
    <Button look="quiet" icon={icon} iconOnly onClick={() => chooseTheme(to)}>
      {name}
    </Button>
  );
}

const ROLES = { read: 'may look', operate: 'may change work', admin: 'may do everything' } as const;

function Who(): ReactNode {
  const { caller, apiKey, forgetKey } = useSession();
  return (
    <div className="who small quiet">
      <p>
        {apiKey === undefined ? 'This machine' : caller.name} {ROLES[caller.role]}
        {caller.tenant !== null && ` of ${caller.tenant}`}
      </p>
      <p>
        {caller.version}
        {caller.embedded && ' · embedded'} · <a href="/api/docs">API</a>
      </p>
      {apiKey !== undefined && (
        <Button look="quiet" icon="key" onClick={forgetKey}>
          Use another key
        </Button>
      )}
    </div>
  );
}
