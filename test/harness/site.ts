import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type IncomingHttpHeaders, request } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Removed after the test, or by the caller. */
export interface TestSite {
  directory: string
  remove(): void
}

export function buildSite(files: Record<string, string | Uint8Array>): TestSite {
  const directory = mkdtempSync(join(tmpdir(), 'portico-site-'))
  for (const [path, content] of Object.entries(files)) {
    const file = join(directory, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content)
  }
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) }
}

/** For one test. */
export function siteOf(files: Record<string, string | Uint8Array>): string {
  const { directory, remove } = buildSite(files)
  onTestFinished(remove)
  return directory
}

export interface Loaded {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

/** As a browser navigates. fetch could neither set `Host` nor send these paths. */
export function load(
  baseUrl: string,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Loaded> {
  const { hostname, port } = new URL(baseUrl)
  const accept = 'text/html,application/xhtml+xml,*/*;q=0.8'
  return new Promise((resolve, reject) => {
    const outgoing = request({ hostname, port, path, method, headers: { accept, ...headers } }, (response) => {
      const chunks: Buffer[] = []
      response
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(chunks).toString('utf8'),
          }),
        )
        .on('error', reject)
    })
    outgoing.on('error', reject).end()
  })
}
