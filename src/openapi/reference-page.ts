import { readFileSync } from 'node:fs'
import { inPackage } from '../config/env.ts'

export interface PageFile {
  path: string
  contentType: string
  bytes: Uint8Array
}

/** Allows scripts only from this origin, and no eval. The renderer needs inline styles. */
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

/** The build replaces the path by that of its copy (scripts/build.ts). */
const renderer = new URL('../../node_modules/swagger-ui-dist/', import.meta.url)

const html = 'text/html; charset=utf-8'
const css = 'text/css; charset=utf-8'
const script = 'text/javascript; charset=utf-8'

/** `hasDemo` adds the sign-in with demo accounts. */
export function referencePageFiles(hasDemo: boolean): PageFile[] {
  return [
    { path: '/docs', contentType: html, bytes: readOwnFile('docs.html') },
    { path: '/docs/theme.js', contentType: script, bytes: readOwnFile('theme.js') },
    { path: '/docs/accessible.js', contentType: script, bytes: readOwnFile('accessible.js') },
    { path: '/docs/dialog.js', contentType: script, bytes: readOwnFile('dialog.js') },
    { path: '/docs/folded.js', contentType: script, bytes: readOwnFile('folded.js') },
    { path: '/docs/reference.js', contentType: script, bytes: readOwnFile('reference.js') },
    { path: '/docs/start.js', contentType: script, bytes: readOwnFile('start.js') },
    { path: '/docs/portico.css', contentType: css, bytes: readOwnFile('portico.css') },
    { path: '/docs/swagger-ui.css', contentType: css, bytes: readRendererFile('swagger-ui.css') },
    { path: '/docs/swagger-ui-bundle.js', contentType: script, bytes: readRendererFile('swagger-ui-bundle.js') },
    { path: '/docs/icon.png', contentType: 'image/png', bytes: readRendererFile('favicon-32x32.png') },
    ...(hasDemo ? demoFiles() : []),
  ]
}

function readOwnFile(name: string): Uint8Array {
  return readFileSync(inPackage(`assets/reference-page/${name}`))
}

function readRendererFile(name: string): Uint8Array {
  return readFileSync(new URL(name, renderer))
}

/** Only the development profile serves these files. */
function demoFiles(): PageFile[] {
  return [
    { path: '/docs/start.js', contentType: script, bytes: readOwnFile('start-demo.js') },
    { path: '/docs/demo.js', contentType: script, bytes: readOwnFile('demo.js') },
  ]
}
