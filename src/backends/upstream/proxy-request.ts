import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { countStreamedBytes, IncomingMessage, ServerResponse } from '../../platform/runtime/index.ts'

export interface ProxyRequestHead {
  method: string
  path: string
  headers: Record<string, string>
}

/**
 * The request that http-proxy-middleware receives instead of the client's. Its head is built by us, so that no header of
 * the client can reach an upstream; the body is the client's. It has an unconnected socket.
 */
export class ProxyRequest extends IncomingMessage {
  readonly #source: Readable | null

  constructor({ method, path, headers }: ProxyRequestHead, source: Readable | null) {
    super(new Socket())
    this.method = method
    this.url = path
    this.headers = headers
    this.httpVersion = '1.1'
    this.httpVersionMajor = 1
    this.httpVersionMinor = 1
    this.#source = source
    source
      ?.on('data', (chunk: Buffer) => {
        countStreamedBytes(chunk.length)
        if (!this.push(chunk)) source.pause()
      })
      .once('end', () => this.push(null))
      .pause()
  }

  override _read(): void {
    if (this.#source) this.#source.resume()
    else this.push(null)
  }
}

/** Returns the matching response. Nothing is written to it; closing it aborts the request to the upstream. */
export const createProxyResponse = (request: IncomingMessage): ServerResponse => new ServerResponse(request)

/** Aborts what http-proxy-middleware still does for this request. */
export const abortProxy = (response: ServerResponse): void => {
  response.emit('close')
}
