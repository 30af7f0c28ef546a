import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Request, RequestHandler, Response } from 'express'
import { matchesIfNoneMatch, type Portal } from '../../kernel/index.ts'
import { type JsonObject, type PageFile, referencePageFiles, referencePolicy } from '../../openapi/index.ts'
import { closeIfBodyUnread } from '../http/connection.ts'
import { buildSecurityHeaders } from '../http/security-headers.ts'
import { createDemoCodes, type DemoSignIn, demoCodesPath } from './demo-sign-in.ts'

const compress = promisify(gzip)

const documentPath = '/openapi.json'

/**
 * Builds a document. `isSealed`: it describes the sealed bodies of the secure channel, too. Without a portal, it describes
 * CONSUMER and SYSTEM.
 */
export type BuildDocument = (isSealed: boolean, portal: Portal | null) => Promise<JsonObject>

type Send = (request: Request, response: Response) => void | Promise<void>

export interface PageOptions {
  /** The only portal that is described. Null describes all. */
  portal?: Portal | null
  portals?: readonly Portal[]
  /** Returns false if it has refused the request. */
  admit?: (request: Request, response: Response) => Promise<boolean>
  /** Whether `/` leads to the reference page, in development. */
  redirectsRoot?: boolean
  /** In development. Null if emails are sent, because the page cannot read their codes. */
  demo?: DemoSignIn | null
}

/** The first request builds the pages in memory, so express.static, which reads files, cannot serve them. */
export function createReferencePages(
  build: BuildDocument,
  { admit = async () => true, redirectsRoot = false, demo = null, portal = null, portals = [] }: PageOptions = {},
): RequestHandler {
  const headers = pageHeaders()
  const serveDemoCodes = demo && createDemoCodes(demo)
  const pages = retryable(() => buildPages(() => build(false, portal), demo))
  const others = new Map(
    documentsOf(portal, portals).map(({ path, ...of }) => [path, retryable(() => buildOther(build, path, of))]),
  )
  const redirect: Send = (_request, response) => {
    response.writeHead(302, { ...headers, location: '/docs', 'content-length': 0 }).end()
  }
  const refuseWith =
    (reason: string): Send =>
    (_request, response) => {
      response.writeHead(400, { ...headers, 'content-type': 'text/plain; charset=utf-8' })
      response.end(`${reason}\n`)
    }
  const findResponse = async ({ method, url }: Request): Promise<Send | null> => {
    const [path = '', query] = url.split('?', 2)
    if (method !== 'GET' && method !== 'HEAD') return null
    if (redirectsRoot && path === '/') return redirect
    if (!isPagePath(path)) return null
    if (serveDemoCodes && path === demoCodesPath) return serveDemoCodes
    const document = path === documentPath ? readDocumentQuery(query, portal, portals) : { path }
    if ('reason' in document) return refuseWith(document.reason)
    const page = (await (others.get(document.path) ?? pages)()).get(document.path)
    return page ? (request, response) => sendPage(page, headers, request, response) : null
  }
  const serve = async (request: Request, response: Response): Promise<boolean> => {
    const send = await findResponse(request)
    if (send === null) return false
    if (!(await admit(request, response))) return true
    closeIfBodyUnread(request, response)
    await send(request, response)
    return true
  }
  return (request, response, next) => {
    serve(request, response).then((isServed) => (isServed ? undefined : next()), next)
  }
}

function pageHeaders(): Record<string, string> {
  const policy = Object.entries(referencePolicy).map(([directive, sources]) => [directive, ...sources].join(' '))
  return {
    ...buildSecurityHeaders(),
    'content-security-policy': policy.join('; '),
    'cache-control': 'no-cache',
    vary: 'accept-encoding',
  }
}

/** Caches a result. After a failure, the next call tries again. */
function retryable<T>(build: () => Promise<T>): () => Promise<T> {
  let built: Promise<T> | null = null
  return () => {
    built ??= build().catch((error: unknown) => {
      built = null
      throw error
    })
    return built
  }
}

interface Page extends PageFile {
  etag: string
  /** The first request that accepts gzip starts the compression. */
  compressed?: Promise<Uint8Array>
}

async function buildPages(build: () => Promise<JsonObject>, demo: DemoSignIn | null): Promise<Map<string, Page>> {
  const files = [toJsonFile(documentPath, await build()), ...referencePageFiles(demo !== null)]
  if (demo) files.push(toJsonFile('/docs/demo.json', { accounts: demo.accounts, password: demo.password }))
  return toPages(files)
}

function toJsonFile(path: string, value: object): PageFile {
  return {
    path,
    contentType: 'application/json; charset=utf-8',
    bytes: Buffer.from(JSON.stringify(value)),
  }
}

function toPages(files: readonly PageFile[]): Map<string, Page> {
  return new Map(files.map((file) => [file.path, toPage(file)]))
}

function toPage(file: PageFile): Page {
  return { ...file, etag: hash('sha256', file.bytes, 'base64url').slice(0, 27) }
}

interface Described {
  isSealed: boolean
  portal: Portal | null
}

/** The documents besides the one without a query. */
function documentsOf(portal: Portal | null, portals: readonly Portal[]): (Described & { path: string })[] {
  const named = portal === null ? portals : [portal]
  return [portal, ...named]
    .flatMap((each, index) =>
      [false, true].map((isSealed) => {
        const isNamed = index > 0
        return { path: pathOf(isNamed ? each : null, isSealed), isSealed, portal: each }
      }),
    )
    .filter(({ path }) => path !== documentPath)
}

function pathOf(portal: Portal | null, isSealed: boolean): string {
  const query = [...(isSealed ? ['channel=sealed'] : []), ...(portal === null ? [] : [`portal=${portal}`])].join('&')
  return query === '' ? documentPath : `${documentPath}?${query}`
}

async function buildOther(build: BuildDocument, path: string, of: Described): Promise<Map<string, Page>> {
  return toPages([toJsonFile(path, await build(of.isSealed, of.portal))])
}

function isPagePath(path: string): boolean {
  return path === documentPath || path === '/docs' || path.startsWith('/docs/')
}

/** Returns the reason for a channel or a portal that no document describes. */
function readDocumentQuery(
  query: string | undefined,
  only: Portal | null,
  portals: readonly Portal[],
): { path: string } | { reason: string } {
  const parameters = new URLSearchParams(query)
  const [channels, named] = [parameters.getAll('channel'), parameters.getAll('portal')]
  if (!channels.every((channel) => channel === 'sealed')) return { reason: 'channel: must be sealed' }
  const known = only === null ? portals : [only]
  const [portal = null] = named
  if (named.length > 1 || (portal !== null && !known.includes(portal)))
    return { reason: `portal: must be one of ${known.join(', ')}` }
  return { path: pathOf(portal, channels.length > 0) }
}

async function sendPage(
  page: Page,
  headers: Record<string, string>,
  request: Request,
  response: Response,
): Promise<void> {
  const isGzip = request.acceptsEncodings('gzip') === 'gzip'
  const etag = `"${page.etag}${isGzip ? '-gzip' : ''}"`
  if (matchesIfNoneMatch(request.headers['if-none-match'], etag)) {
    response.writeHead(304, { ...headers, etag }).end()
    return
  }
  if (isGzip) page.compressed ??= compress(page.bytes)
  const bytes = isGzip && page.compressed ? await page.compressed : page.bytes
  response.writeHead(200, {
    ...headers,
    etag,
    'content-type': page.contentType,
    'content-length': bytes.length,
    ...(isGzip ? { 'content-encoding': 'gzip' } : {}),
  })
  response.end(bytes)
}
