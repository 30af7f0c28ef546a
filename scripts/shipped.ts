/**
 * Development packages whose files the build copies into the package (scripts/build.ts). Their dependencies are not
 * copied. The checks of production packages cover them, too.
 */
export const shippedPackages: ReadonlySet<string> = new Set(['swagger-ui-dist'])
