import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** Where `npm start` serves, for `vite dev` beside it. It takes changes from its own page only, so what is asked says it comes from there. */
const SERVER = 'http://127.0.0.1:3000';
const behind = { target: SERVER, changeOrigin: true, headers: { origin: SERVER } };

const FONTS = ['@fontsource-variable/inter', '@fontsource-variable/jetbrains-mono'];
const LICENSES = 'licenses.md';

/** The page is first drawn with its fonts: a font that is found only in the style sheet comes too late, and later it would move the text. */
const fontsFirst = (): Plugin => ({
  name: 'fonts-first',
  transformIndexHtml: {
    order: 'post',
    handler: (_html, { bundle = {} }) =>
      Object.keys(bundle)
        .filter((file) => file.endsWith('.woff2'))
        .map((file) => ({
          tag: 'link',
          attrs: { rel: 'preload', as: 'font', type: 'font/woff2', href: `/${file}`, crossorigin: true },
          injectTo: 'head-prepend' as const,
        })),
  },
});

/** Vite lists the licences of bundled code only; fonts are shipped, too. */
const fontLicenses = (): Plugin => ({
  name: 'font-licenses',
  enforce: 'post',
  generateBundle: {
    order: 'post',
    handler(_options, bundle) {
      const { resolve } = createRequire(import.meta.url);
      const texts = FONTS.map((name) => `## ${name}\n\n${readFileSync(resolve(`${name}/LICENSE`), 'utf8')}`);
      const listed = bundle[LICENSES];
      const source = listed?.type === 'asset' ? String(listed.source) : '';
      delete bundle[LICENSES];
      this.emitFile({ type: 'asset', fileName: LICENSES, source: [source, ...texts].join('\n') });
    },
  },
});

export default defineConfig({
  plugins: [react(), fontsFirst(), fontLicenses()],
  resolve: { conditions: ['@millrace/source', 'module', 'browser', 'production'] },
  build: {
    // The server serves it from there, and the package ships it.
    outDir: '../server/page',
    emptyOutDir: true,
    license: { fileName: LICENSES },
    // The strict policy of the server allows nothing inline, data: addresses of fonts among it.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
  },
  server: { proxy: { '/api': behind, '/health': behind, '/metrics': behind } },
});
