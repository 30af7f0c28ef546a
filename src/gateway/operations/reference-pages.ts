import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Request, RequestHandler, Response } from 'express'
import { matchesIfNoneMatch } from '../../kernel/index.ts'
import { type JsonObject, type PageFile, referencePageFiles, referencePolicy } from '../../openapi/index.ts'
import { closeIfBodyUnread } from '../http/connection.ts'
import { buildSecurityHeaders } from '../http/security-headers.ts'

interface Page extends PageFile {
  etag: string
  /** Compressed by the first request that accepts gzip. */
  compressed?: Promise<Uint8Array>
}

const compress = promisify(gzip)

const toPage = (file: PageFile): Page => ({ ...file, etag: hash('sha256', file.bytes, 'base64url').slice(0, 27) })

const toDocumentFile = (document: JsonObject): PageFile => ({
  path: '/openapi.json',
  contentType: 'application/json; charset=utf-8',
  bytes: Buffer.from(JSON.stringify(document)),
})

const buildPages = async (document: () => Promise<JsonObject>): Promise<Map<string, Page>> =>
  new Map([toDocumentFile(await document()), ...referencePageFiles()].map((file) => [file.path, toPage(file)]))

const pageHeaders = (): Record<string, string> => {
  const policy = Object.entries(referencePolicy).map(([directive, sources]) => [directive, ...sources].join(' '))
  return {
    ...buildSecurityHeaders(),
    'content-security-policy': policy.join('; '),
    'cache-control': 'no-cache',
    vary: 'accept-encoding',
  }
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

const isPagePath = (path: string): boolean => path === '/openapi.json' || path === '/docs' || path.startsWith('/docs/')

/**
 * Serves the reference: /openapi.json, /docs and its assets, with their own content security policy. The pages are built
 * in memory by the first request, so `express.static`, which reads files, does not fit. Clients revalidate by ETag.
 */
export function createReferencePages(document: () => Promise<JsonObject>): RequestHandler {
  const headers = pageHeaders()
  let pages: Promise<Map<string, Page>> | null = null
  const findPage = async (path: string): Promise<Page | undefined> => {
    pages ??= buildPages(document)
    try {
      return (await pages).get(path)
    } catch (error) {
      // Build again at the next request.
      pages = null
      throw error
    }
  }
  const servePage = async (path: string, request: Request, response: Response): Promise<boolean> => {
    const page = await findPage(path)
    if (!page) return false
    closeIfBodyUnread(request, response)
    await sendPage(page, headers, request, response)
    return true
  }
  return (request, response, next) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    const path = request.url.split('?', 1)[0] ?? ''
    if (!isRead || !isPagePath(path)) return next()
    servePage(path, request, response).then((isServed) => (isServed ? undefined : next()), next)
  }
}
