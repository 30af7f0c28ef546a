import { createHash } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** @param {string} path */
const inPackage = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))

/** What a build is made of: the sources, and the versions of what they import. */
const parts = () => [
  'package-lock.json',
  ...readdirSync(inPackage('src'), { recursive: true })
    .map((name) => `src/${name}`)
    .sort(),
]

/** A text that is another one after any change of the sources: names, sizes and times of change, which are soon read. */
const fingerprint = () => {
  const hash = createHash('sha256')
  for (const part of parts()) {
    const found = statSync(inPackage(part))
    if (found.isFile()) hash.update(`${part} ${found.size} ${found.mtimeMs}\n`)
  }
  return hash.digest('base64url').slice(0, 16)
}

/** The folder of a build of the sources as they are now; of the only build there is where it comes without sources. */
export const buildFolder = () => inPackage(`build/${existsSync(inPackage('src')) ? fingerprint() : 'release'}`)
