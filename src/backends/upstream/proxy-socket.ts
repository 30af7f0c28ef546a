import { Socket } from 'node:net'
import { Duplex } from 'node:stream'

type Done = (error?: Error | null) => void

class Backpressure {
  #waiting: Done | null = null

  /** Calls `done` now, or once the reader is ready. */
  wait(isReady: boolean, done: Done): void {
    if (isReady) done()
    else this.#waiting = done
  }

  release(): void {
    const done = this.#waiting
    this.#waiting = null
    done?.()
  }
}

/**
 * The socket that http-proxy-middleware gets instead of the client's. The middleware can therefore neither write to the
 * client nor close its connection. `gatewaySide` is the other end in memory.
 */
export class ProxySocket extends Socket {
  readonly gatewaySide: Duplex
  readonly #toGateway = new Backpressure()
  readonly #toUpstream = new Backpressure()
  #isHead = true

  /** Each direction buffers about `maxBufferedBytes`. */
  constructor(maxBufferedBytes: number) {
    super(socketOptions(maxBufferedBytes))
    this.gatewaySide = new Duplex({
      highWaterMark: maxBufferedBytes,
      read: () => this.#toGateway.release(),
      write: (chunk: Buffer, _encoding, done) => this.#toUpstream.wait(this.push(chunk), done),
      final: (done) => {
        this.push(null)
        done()
      },
      destroy: (error, done) => {
        this.destroy()
        done(error)
      },
    })
  }

  override _read(): void {
    this.#toUpstream.release()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    this.#writeAll([chunk], done)
  }

  override _writev(chunks: { chunk: Buffer }[], done: Done): void {
    this.#writeAll(
      chunks.map(({ chunk }) => chunk),
      done,
    )
  }

  /** The first chunk is the head of the upstream's response. The gateway sends its own. */
  #writeAll(chunks: Buffer[], done: Done): void {
    let isReady = true
    for (const chunk of this.#isHead ? chunks.slice(1) : chunks) isReady = this.gatewaySide.push(chunk)
    this.#isHead = false
    this.#toGateway.wait(isReady, done)
  }

  override _final(done: Done): void {
    this.gatewaySide.push(null)
    done()
  }

  override _destroy(error: Error | null, done: Done): void {
    super._destroy(error, done)
    // After a regular end, the gateway can still have bytes to read.
    if (!this.writableFinished) this.gatewaySide.destroy()
  }
}

/** Node passes options of a stream on, but its types omit them. */
function socketOptions(highWaterMark: number) {
  return { allowHalfOpen: true, highWaterMark }
}
