import { readFileSync } from 'node:fs'
import satisfies from 'semver/functions/satisfies.js'
import validRange from 'semver/ranges/valid.js'
import { z } from 'zod'
import { packageVersion } from '../config/env.ts'
import { messageOf } from '../kernel/index.ts'

const Manifest = z.object({ peerDependencies: z.object({ portico: z.string().optional() }).optional() })

/**
 * Checks `peerDependencies.portico` in the extension's package.json. Without it, accepts every version.
 */
export const versionErrors = (packageFile: string): string[] => {
  try {
    const range = Manifest.parse(JSON.parse(readFileSync(packageFile, 'utf8'))).peerDependencies?.portico
    if (range === undefined) return []
    const place = `${packageFile}: peerDependencies.portico`
    if (validRange(range) === null) return [`${place}: '${range}' is not a version range`]
    const version = packageVersion()
    return satisfies(version, range, { includePrerelease: true })
      ? []
      : [`${place}: requires portico ${range}, but this is portico ${version}`]
  } catch (error) {
    return [`${packageFile}: ${messageOf(error)}`]
  }
}
