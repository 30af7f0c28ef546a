import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Request, RequestHandler, Response } from 'express'
import { matchesIfNoneMatch } from '../kernel/index.ts'
import { type JsonObject, type PageFile, referencePageFiles, referencePolicy } from '../openapi/index.ts'
import { answerOverRest } from './rest-of-body.ts'
import { securityHeaders } from './security-headers.ts'

interface Page extends PageFile {
  etag: string
  /** Made at the first request that takes it. */
  compressed?: Promise<Uint8Array>
}

const compress = promisify(gzip)

const pageOf = (file: PageFile): Page => ({ ...file, etag: hash('sha256', file.bytes, 'base64url').slice(0, 27) })

const documentFile = (document: JsonObject): PageFile => ({
  path: '/openapi.json',
  contentType: 'application/json; charset=utf-8',
  bytes: Buffer.from(JSON.stringify(document)),
})

const takesGzip = (header = ''): boolean =>
  header.split(',').some((item) => /^\s*gzip\s*(;|$)/i.test(item) && !/;\s*q=0(\.0*)?\s*$/.test(item))

/**
 * The reference: /openapi.json, /docs and what /docs loads, under exactly these paths and a content policy of their
 * own. They are made at the first request for any of them; whoever has them asks whether they have changed.
 */
export const referencePages = (document: () => Promise<JsonObject>): RequestHandler => {
  const read = async () =>
    new Map([documentFile(await document()), ...referencePageFiles()].map((file) => [file.path, pageOf(file)]))
  let made: ReturnType<typeof read> | null = null
  const find = async (path: string): Promise<Page | undefined> => {
    made ??= read()
    try {
      return (await made).get(path)
    } catch (error) {
      made = null
      throw error
    }
  }
  const policy = Object.entries(referencePolicy).map(([directive, sources]) => [directive, ...sources].join(' '))
  const fields = {
    ...securityHeaders(),
    'content-security-policy': policy.join('; '),
    'cache-control': 'no-cache',
    vary: 'accept-encoding',
  }

  const send = async (page: Page, request: Request, response: Response): Promise<void> => {
    const zipped = takesGzip(request.headers['accept-encoding'])
    const etag = `"${page.etag}${zipped ? '-gzip' : ''}"`
    if (matchesIfNoneMatch(request.headers['if-none-match'], etag)) {
      response.writeHead(304, { ...fields, etag }).end()
      return
    }
    if (zipped) page.compressed ??= compress(page.bytes)
    const bytes = zipped && page.compressed ? await page.compressed : page.bytes
    response.writeHead(200, {
      ...fields,
      etag,
      'content-type': page.contentType,
      'content-length': bytes.length,
      ...(zipped ? { 'content-encoding': 'gzip' } : {}),
    })
    response.end(bytes)
  }

  return (request, response, next) => {
    const reads = request.method === 'GET' || request.method === 'HEAD'
    const path = request.url.split('?', 1)[0] ?? ''
    if (!reads || (path !== '/openapi.json' && path !== '/docs' && !path.startsWith('/docs/'))) return next()
    const answer = async (): Promise<void> => {
      const page = await find(path)
      if (!page) return next()
      answerOverRest(request, response)
      await send(page, request, response)
    }
    answer().catch(next)
  }
}
