import { createHash } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** @param {string} path */
const inPackage = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))

/** The inputs of a build: the sources, and the versions of the packages. */
const parts = () => [
  'package-lock.json',
  ...readdirSync(inPackage('src'), { recursive: true })
    .map((name) => `src/${name}`)
    .sort(),
]

/** A fingerprint of the sources by names, sizes and modification times, which are faster to read than the contents. */
const fingerprint = () => {
  const hash = createHash('sha256')
  for (const part of parts()) {
    const found = statSync(inPackage(part))
    if (found.isFile()) hash.update(`${part} ${found.size} ${found.mtimeMs}\n`)
  }
  return hash.digest('base64url').slice(0, 16)
}

/** The folder for the build of the current sources, or of the release build if there are no sources. */
export const buildFolder = () => inPackage(`build/${existsSync(inPackage('src')) ? fingerprint() : 'release'}`)
