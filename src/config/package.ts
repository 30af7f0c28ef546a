import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

const folder = new URL('../../', import.meta.url)

/** The package's folder, or a file in it by its path. A build lies as deep in it as this file, and finds the same. */
export const inPackage = (path = ''): string => fileURLToPath(new URL(path, folder))

const Package = z.object({ version: z.string() })

export const packageVersion = (): string =>
  Package.parse(JSON.parse(readFileSync(inPackage('package.json'), 'utf8'))).version
