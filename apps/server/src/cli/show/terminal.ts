import type { Environment } from '../../config/given-settings.js';
import type { Screen } from '../surroundings.js';

/**
 * Whether a screen can be written over: bars can move there.
 * @param screen - that is written to.
 * @param env - says what kind of terminal it is.
 */
export const isTerminal = (screen: Screen, env: Environment): boolean =>
  screen.isTTY === true && env.TERM !== 'dumb';

/**
 * Whether a screen shows colours, as https://no-color.org asks.
 * @param screen - that is written to.
 * @param env - may hold NO_COLOR.
 */
export const hasColours = (screen: Screen, env: Environment): boolean =>
  isTerminal(screen, env) && (env.NO_COLOR ?? '') === '';
