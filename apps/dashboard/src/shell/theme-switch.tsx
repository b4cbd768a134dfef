import type { ReactNode } from 'react';
import { chooseTheme, type ThemeChoice, useThemeChoice } from '../look/theme.js';
import { Button } from '../parts/button.js';
import type { IconName } from '../parts/icon.js';

const NEXT: Readonly<
  Record<ThemeChoice, { readonly to: ThemeChoice; readonly icon: IconName; readonly name: string }>
> = {
  system: { to: 'light', icon: 'screen', name: 'Theme of this machine; change to light' },
  light: { to: 'dark', icon: 'sun', name: 'Light theme; change to dark' },
  dark: { to: 'system', icon: 'moon', name: 'Dark theme; change to that of this machine' },
};

/** Goes through the themes. */
export function ThemeSwitch(): ReactNode {
  const { to, icon, name } = NEXT[useThemeChoice()];
  return (
    <Button look="quiet" icon={icon} iconOnly onClick={() => chooseTheme(to)}>
      {name}
    </Button>
  );
}
