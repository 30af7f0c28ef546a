import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { countStreamedBytes, IncomingMessage, ServerResponse } from '../platform/runtime/index.ts'

export interface ForwardedHead {
  method: string
  path: string
  headers: Record<string, string>
}

/**
 * The request that http-proxy-middleware is given in the place of the client's: made of the head that we built, so that
 * no field of the client's can reach an upstream by any way, and of the client's bytes, which flow through it. It has
 * no connection; what would be written to one goes nowhere.
 */
export class ForwardedRequest extends IncomingMessage {
  readonly #source: Readable | null

  constructor({ method, path, headers }: ForwardedHead, source: Readable | null) {
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

/** Its other half: nothing is ever written to it, but its closing ends the exchange with the upstream. */
export const deadEnd = (request: IncomingMessage): ServerResponse => new ServerResponse(request)

/** Ends whatever http-proxy-middleware still does for this exchange. */
export const abandon = (response: ServerResponse): void => {
  response.emit('close')
}
