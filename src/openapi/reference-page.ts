import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { inPackage } from '../config/package.ts'

/** A file of the reference page: where it is served, and what it is. */
export interface PageFile {
  path: string
  contentType: string
  bytes: Uint8Array
}

/** The page's own policy: scripts from this origin alone, none inline, no eval; the renderer sets styles inline. */
export const referencePolicy: Record<string, string[]> = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'", "'unsafe-inline'"],
  'img-src': ["'self'", 'data:'],
  'connect-src': ["'self'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
}

const renderer = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
const packaged = (name: string): Uint8Array => readFileSync(join(renderer, name))
const local = (name: string): Uint8Array => readFileSync(inPackage(`config/reference-page/${name}`))

const html = 'text/html; charset=utf-8'
const css = 'text/css; charset=utf-8'
const script = 'text/javascript; charset=utf-8'

/** The reference page with all that it loads, read once; everything comes from this package and its dependencies. */
export const referencePageFiles = (): PageFile[] => [
  { path: '/docs', contentType: html, bytes: local('docs.html') },
  { path: '/docs/theme.js', contentType: script, bytes: local('theme.js') },
  { path: '/docs/accessible.js', contentType: script, bytes: local('accessible.js') },
  { path: '/docs/dialog.js', contentType: script, bytes: local('dialog.js') },
  { path: '/docs/start.js', contentType: script, bytes: local('start.js') },
  { path: '/docs/portico.css', contentType: css, bytes: local('portico.css') },
  { path: '/docs/swagger-ui.css', contentType: css, bytes: packaged('swagger-ui.css') },
  { path: '/docs/swagger-ui-bundle.js', contentType: script, bytes: packaged('swagger-ui-bundle.js') },
  { path: '/docs/icon.png', contentType: 'image/png', bytes: packaged('favicon-32x32.png') },
]
