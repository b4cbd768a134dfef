import type { Environment } from '../../config/settings.js';
import type { Screen } from '../surroundings.js';

/** Whether a screen can be written over: bars can move there. */
export const isTerminal = (screen: Screen, env: Environment): boolean =>
  screen.isTTY === true && env.TERM !== 'dumb';

/** Whether a screen shows colours, as https://no-color.org asks. */
export const hasColours = (screen: Screen, env: Environment): boolean =>
  isTerminal(screen, env) && (env.NO_COLOR ?? '') === '';
