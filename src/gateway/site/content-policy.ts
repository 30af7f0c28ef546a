import { hash } from 'node:crypto'
import type { SitePolicy } from '../../config/index.ts'
import type { PageParts } from './page-scan.ts'

export interface PagePolicy extends SitePolicy {
  /** The names of the policies that scripts may create. Default: all. */
  trustedTypePolicies?: readonly string[]
}

/** Files that are not pages get the policy without hashes. Workers obey it. */
export const noParts: Pick<PageParts, 'scripts' | 'styles' | 'hasBase'> = { scripts: [], styles: [], hasBase: false }

/**
 * Returns the Content-Security-Policy (CSP Level 3) of a file. `socketOrigins` are for browsers whose 'self' excludes
 * WebSockets.
 */
export function buildContentPolicy(
  csp: PagePolicy,
  { scripts, styles, hasBase }: Pick<PageParts, 'scripts' | 'styles' | 'hasBase'>,
  socketOrigins: readonly string[],
): string {
  const directives: Record<string, readonly string[]> = {
    'default-src': ["'none'"],
    'script-src': ["'self'", ...hashesOf(scripts), ...(csp.script ?? [])],
    'style-src': ["'self'", ...hashesOf(styles), ...(csp.style ?? [])],
    'img-src': ["'self'", 'data:', 'blob:', ...(csp.image ?? [])],
    // Bundlers inline small fonts.
    'font-src': ["'self'", 'data:', ...(csp.font ?? [])],
    'media-src': ["'self'", 'blob:'],
    'connect-src': ["'self'", ...socketOrigins, ...(csp.connect ?? [])],
    'frame-src': csp.frame?.length ? csp.frame : ["'none'"],
    // A blob of a worker would be a script from a text.
    'worker-src': ["'self'"],
    'manifest-src': ["'self'"],
    'object-src': ["'none'"],
    'base-uri': [hasBase ? "'self'" : "'none'"],
    'form-action': ["'self'"],
    'frame-ancestors': ["'none'"],
    ...(csp.trustedTypes && { 'require-trusted-types-for': ["'script'"] }),
    ...(csp.trustedTypePolicies && {
      'trusted-types': csp.trustedTypePolicies.length > 0 ? csp.trustedTypePolicies : ["'none'"],
    }),
  }
  return Object.entries(directives)
    .map(([name, values]) => [name, ...values].join(' '))
    .join('; ')
}

function hashesOf(texts: readonly string[]): string[] {
  return [...new Set(texts)].map((text) => `'sha256-${hash('sha256', text, 'base64')}'`)
}
