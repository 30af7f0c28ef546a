import { hash } from 'node:crypto'
import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import { errorCode } from '../../kernel/index.ts'
import { buildContentPolicy, noParts, type PagePolicy } from './content-policy.ts'
import { scanPage } from './page-scan.ts'

/** A file in one content coding. */
export interface Representation {
  bytes: Buffer
  etag: string
}

export type Encoding = 'br' | 'zstd' | 'gzip'

export interface SiteFile {
  identity: Representation
  /** The precompressed files next to it. */
  encoded: ReadonlyMap<Encoding, Representation>
  policy: string
  isImmutable: boolean
}

/** By path without the leading slash, such as `assets/app.js`. */
export type SiteFiles = ReadonlyMap<string, SiteFile>

/** All files stay in memory. Larger media belong on a CDN or in an object store. */
const maxSiteBytes = 128 * 1024 * 1024

const suffixes: readonly [suffix: string, encoding: Encoding][] = [
  ['.br', 'br'],
  ['.zst', 'zstd'],
  ['.gz', 'gzip'],
]

/** Content hashes of webpack and Parcel. */
const hexHash = /(?:^|[-./])(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,64}(?:\.(?:chunk|bundle|min))?\.\w+(?:\.map)?$/

/** Content hashes of Vite, Rollup, esbuild and Angular. All-lowercase ones could be words. */
const scriptHash = /[-.](?=[\w-]*[A-Z0-9_-])[\w-]{8}\.(?:m?js|css)(?:\.map)?$/

/** Images often have names like `logo-1024x768` or `hero-Desktop1`. A hash that does not match is revalidated. */
const assetHash = /[-.](?=\w*\d[A-Za-z])(?=\w*[A-Z])\w{8}\.\w+$/

interface PageRules {
  /** Called for a page with inline parts that its policy blocks. */
  onBlocked(page: string, blocked: readonly string[]): void
  /** Returns the HTML to serve. Default: that of the file. */
  adjustPage?(html: string): string
}

/**
 * Reads every file at start, so a request cannot reach the file system, and pages always match the hashes in their policy.
 * Throws an error without the name of the setting.
 */
export function readSite(
  directory: string,
  csp: PagePolicy,
  socketOrigins: readonly string[],
  { onBlocked, adjustPage }: PageRules,
): SiteFiles {
  const contents = readFiles(directory)
  for (const [path, bytes] of contents)
    if (adjustPage && path.endsWith('.html')) contents.set(path, Buffer.from(adjustPage(bytes.toString('utf8'))))
  if (!contents.has('index.html')) throw new Error(`${directory} has no index.html; build the front end first`)
  const withoutPage = buildContentPolicy(csp, noParts, socketOrigins)
  const policyOf = (path: string, bytes: Buffer): string => {
    if (!path.endsWith('.html')) return withoutPage
    const parts = scanPage(bytes.toString('utf8'))
    if (parts.blocked.length > 0) onBlocked(path, parts.blocked)
    return buildContentPolicy(csp, parts, socketOrigins)
  }
  const files = new Map<string, SiteFile>()
  for (const [path, bytes] of contents) {
    if (suffixes.some(([suffix]) => path.endsWith(suffix) && contents.has(path.slice(0, -suffix.length)))) continue
    const encoded = suffixes.flatMap(([suffix, encoding]) => {
      const compressed = contents.get(path + suffix)
      return compressed ? [[encoding, toRepresentation(compressed)] as const] : []
    })
    files.set(path, {
      identity: toRepresentation(bytes),
      encoded: new Map(encoded),
      policy: policyOf(path, bytes),
      isImmutable: !path.endsWith('.html') && [hexHash, scriptHash, assetHash].some((pattern) => pattern.test(path)),
    })
  }
  return files
}

function readFiles(directory: string): Map<string, Buffer> {
  const root = resolveFolder(directory)
  const paths = [...filePathsBelow(root)]
  let size = 0
  return new Map(
    paths.map((path) => {
      const file = realpathOf(join(root, path))
      const stats = file?.startsWith(root + sep) ? statSync(file) : undefined
      if (!file || !stats?.isFile())
        throw new Error(`${join(directory, path)} is not a file of the directory; remove it`)
      size += stats.size
      if (size > maxSiteBytes)
        throw new Error(`${directory} has more than ${maxSiteBytes / 1024 / 1024} MB; serve large files from elsewhere`)
      return [path.replaceAll(sep, '/'), readFileSync(file)]
    }),
  )
}

/** Omits names that begin with a dot, except `.well-known` (RFC 8615). Does not follow links to folders. */
function* filePathsBelow(root: string, folder = ''): Generator<string> {
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.name.startsWith('.') && path !== '.well-known') continue
    if (entry.isDirectory()) yield* filePathsBelow(root, path)
    else yield path
  }
}

function resolveFolder(directory: string): string {
  try {
    const root = realpathSync(directory)
    readdirSync(root)
    return root
  } catch (error) {
    throw new Error(`${directory} cannot be read as a folder (${errorCode(error) ?? 'unreadable'}); check its path`)
  }
}

/** Undefined for a link without a target. */
function realpathOf(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

/** By content: builds are often reproducible, with the same times and sizes. */
function toRepresentation(bytes: Buffer): Representation {
  return { bytes, etag: `"${hash('sha256', bytes, 'base64url').slice(0, 27)}"` }
}
