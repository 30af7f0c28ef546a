/**
 * Development packages whose files the build copies into the package (scripts/build.ts), or bundles into the applications
 * (scripts/apps.ts) with their dependencies. The checks of production packages cover them, too.
 */
export const shippedPackages: ReadonlySet<string> = new Set([
  'swagger-ui-dist',
  ...['react', 'react-dom', 'scheduler', '@base-ui/react', '@base-ui/utils', '@floating-ui/core', '@floating-ui/dom'],
  ...['@floating-ui/react-dom', '@floating-ui/utils', 'reselect', 'use-sync-external-store', '@babel/runtime'],
  ...['@tanstack/react-query', '@tanstack/query-core', 'wouter', 'regexparam', 'uplot', 'uqr'],
])
