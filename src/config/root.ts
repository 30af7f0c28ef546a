import { fileURLToPath } from 'node:url'

const folder = new URL('../../', import.meta.url)

/** The package's folder, or a file in it by its path. A build lies as deep in it as this file, and finds the same. */
export const inPackage = (path = ''): string => fileURLToPath(new URL(path, folder))
