/**
 * The browser of the tests and benchmarks, at an entry of its own so that other programs do not load its driver.
 *
 * @packageDocumentation
 */
import { type Browser, chromium } from 'playwright-core';
import { findBinary } from './machine.js';

const FLAGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update', '--force-color-profile=srgb'],
];

/**
 * Starts the system's Chromium.
 * @throws Error with the command that installs it if it is missing.
 */
export const startBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: findBinary('chromium'), args: FLAGS });
