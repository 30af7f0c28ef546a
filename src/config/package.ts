import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

const folder = new URL('../../', import.meta.url)

/** The absolute path of the package, or of a file in it. A build is as deep in the package as this file. */
export const inPackage = (path = ''): string => fileURLToPath(new URL(path, folder))

const Package = z.object({ version: z.string() })

export const packageVersion = (): string =>
  Package.parse(JSON.parse(readFileSync(inPackage('package.json'), 'utf8'))).version
