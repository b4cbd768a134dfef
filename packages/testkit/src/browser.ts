/**
 * The browser that Millrace's own tests and benchmarks look at the page with. An entry of its own: what looks at no page loads no browser
 * driver.
 *
 * @packageDocumentation
 */
import { type Browser, chromium } from 'playwright-core';
import { findBinary } from './find-binary.js';

const FLAGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update', '--force-color-profile=srgb'],
];

/**
 * Starts the system's Chromium; close it after use.
 * @throws Error that names the command to install it when it is nowhere.
 */
export const startBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: findBinary('chromium'), args: FLAGS });
