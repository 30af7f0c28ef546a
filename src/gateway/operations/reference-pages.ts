import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Request, RequestHandler, Response } from 'express'
import { matchesIfNoneMatch } from '../../kernel/index.ts'
import { type JsonObject, type PageFile, referencePageFiles, referencePolicy } from '../../openapi/index.ts'
import { closeIfBodyUnread } from '../http/connection.ts'
import { buildSecurityHeaders } from '../http/security-headers.ts'
import { createDemoCodes, type DemoSignIn, demoCodesPath } from './demo-sign-in.ts'

const compress = promisify(gzip)

const documentPath = '/openapi.json'
const sealedPath = '/openapi.json?channel=sealed'

/** Builds the document of the request. `isSealed`: it describes the sealed bodies of the secure channel, too. */
export type BuildDocument = (isSealed: boolean) => Promise<JsonObject>

type Send = (request: Request, response: Response) => void | Promise<void>

export interface PageOptions {
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
  { admit = async () => true, redirectsRoot = false, demo = null }: PageOptions = {},
): RequestHandler {
  const headers = pageHeaders()
  const serveDemoCodes = demo && createDemoCodes(demo)
  const pages = retryable(() => buildPages(build, demo))
  const sealedPage = retryable(() => buildSealedPage(build))
  const redirect: Send = (_request, response) => {
    response.writeHead(302, { ...headers, location: '/docs', 'content-length': 0 }).end()
  }
  const refuseChannel: Send = (_request, response) => {
    response.writeHead(400, { ...headers, 'content-type': 'text/plain; charset=utf-8' })
    response.end('channel: must be sealed\n')
  }
  const findResponse = async ({ method, url }: Request): Promise<Send | null> => {
    const [path = '', query] = url.split('?', 2)
    if (method !== 'GET' && method !== 'HEAD') return null
    if (redirectsRoot && path === '/') return redirect
    if (!isPagePath(path)) return null
    if (serveDemoCodes && path === demoCodesPath) return serveDemoCodes
    const name = pageOf(path, query)
    if (name === null) return refuseChannel
    const page = (await (name === sealedPath ? sealedPage() : pages())).get(name)
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

async function buildPages(build: BuildDocument, demo: DemoSignIn | null): Promise<Map<string, Page>> {
  const files = [toJsonFile(documentPath, await build(false)), ...referencePageFiles(demo !== null)]
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

async function buildSealedPage(build: BuildDocument): Promise<Map<string, Page>> {
  return toPages([toJsonFile(sealedPath, await build(true))])
}

function isPagePath(path: string): boolean {
  return path === documentPath || path === '/docs' || path.startsWith('/docs/')
}

/** Returns null for a channel that no document describes. */
function pageOf(path: string, query: string | undefined): string | null {
  const channels = path === documentPath ? new URLSearchParams(query).getAll('channel') : []
  if (channels.length === 0) return path
  return channels.every((channel) => channel === 'sealed') ? sealedPath : null
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
