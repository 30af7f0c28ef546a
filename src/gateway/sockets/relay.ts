import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { fallbackProtocol } from '../../contract/header-values.ts'
import type { Durations, SocketReply, Timer } from '../../kernel/index.ts'
import { countStreamedBytes } from '../../platform/runtime/index.ts'
import type { AcceptedSocket, Call, StreamEnd } from '../pipeline/call.ts'
import type { OpenStream } from '../pipeline/open-streams.ts'
import { closeCodes, closeFrame, FrameTracker } from './frames.ts'
import { acceptKey, type Handshake } from './handshake.ts'

const codeOf: Record<StreamEnd, number> = {
  client: closeCodes.goingAway,
  service: closeCodes.internalError,
  revoked: closeCodes.policyViolation,
  rights: closeCodes.policyViolation,
  slow: closeCodes.policyViolation,
  unavailable: closeCodes.tryAgainLater,
  idle: closeCodes.policyViolation,
  lifetime: closeCodes.goingAway,
  shutdown: closeCodes.goingAway,
}

/** How long one side may take to close after the other. */
const lingerMs = 2_000
/** How long the client may take to close after the gateway. */
const graceMs = 250

export interface ClosedSocket {
  call: Call
  /** Bytes from and to the client. */
  received: number
  sent: number
  ms: number
}

export interface RelayPorts {
  durations: Durations
  onClosed(closed: ClosedSocket): void
}

/** Relays bytes with backpressure. */
export class SocketRelay implements AcceptedSocket {
  readonly #call: Call
  readonly #reply: SocketReply
  readonly #service: Duplex
  readonly #stream: OpenStream
  readonly #durations: Durations
  readonly #onClosed: (closed: ClosedSocket) => void
  readonly #frames = new FrameTracker()
  readonly #startedAt: number
  #client: Socket | undefined
  #isStarted = false
  #timer: Timer | undefined
  #end: StreamEnd | null = null
  #received = 0
  #sent = 0

  /** `stream` counts the socket; the relay releases it at its end. */
  constructor(call: Call, reply: SocketReply, stream: OpenStream, { durations, onClosed }: RelayPorts) {
    this.#call = call
    this.#reply = reply
    this.#service = reply.channel
    this.#stream = stream
    this.#durations = durations
    this.#onClosed = onClosed
    this.#startedAt = durations.now()
    this.#service.on('error', () => undefined).once('close', () => this.close('service'))
  }

  start(handshake: Handshake, client: Socket, head: Buffer): void {
    this.#client = client
    client.removeAllListeners('readable').setNoDelay(true).setTimeout(0)
    // The headers of the service are bytes.
    client.write(acceptHead(handshake, this.#reply, this.#call.requestId), 'latin1')
    if (head.length > 0) client.unshift(head)
    client
      .on('data', (chunk: Buffer) => {
        this.#received += chunk.length
        this.#relayed(chunk)
      })
      .on('end', () => this.#beginEnd('client', lingerMs))
      .on('error', () => client.destroy())
      .on('close', () => this.#finish())
    if (this.#end === null) this.#pipe(client)
    else this.#closeClient(client, this.#end)
    // The client can have disconnected during the handshake. Its events have passed.
    if (client.destroyed || client.readableEnded) client.destroy()
    if (client.closed) this.#finish()
    this.#isStarted = true
  }

  release(): void {
    if (this.#isStarted) return
    this.close('service')
    this.#client?.destroy()
  }

  /** The client gets a close frame, unless another frame is incomplete. */
  close(reason: StreamEnd): void {
    if (this.#end !== null) return
    this.#beginEnd(reason, graceMs)
    this.#service.destroy()
    if (this.#client) this.#closeClient(this.#client, reason)
  }

  #pipe(client: Socket): void {
    this.#service
      .on('data', (chunk: Buffer) => {
        this.#sent += chunk.length
        this.#frames.push(chunk)
        this.#relayed(chunk)
      })
      .on('end', () => {
        if (this.#end !== null) return void client.end()
        this.#beginEnd('service', lingerMs)
        this.#closeClient(client, 'service')
      })
    client.pipe(this.#service)
    this.#service.pipe(client, { end: false })
  }

  #relayed(chunk: Buffer): void {
    countStreamedBytes(chunk.length)
    this.#stream.touch()
  }

  #closeClient(client: Socket, reason: StreamEnd): void {
    this.#service.unpipe(client)
    if (this.#frames.acceptsClose) client.write(closeFrame(codeOf[reason], reason))
    client.end()
  }

  /** Records the reason, and destroys the client after `timeoutMs` if it has not closed by then. */
  #beginEnd(reason: StreamEnd, timeoutMs: number): void {
    if (this.#end !== null) return
    this.#end = reason
    const cut = () => (this.#client ? this.#client.destroy() : this.#finish())
    this.#timer = this.#durations.after(timeoutMs, cut)
  }

  #finish(): void {
    this.#timer?.close()
    this.#end ??= 'client'
    this.#service.destroy()
    this.#stream.release(this.#end === 'client' ? 'client' : 'service')
    const ms = this.#durations.now() - this.#startedAt
    this.#onClosed({ call: this.#call, received: this.#received, sent: this.#sent, ms })
  }
}

/** Relays only two headers of the service. */
function acceptHead({ key, offersFallback }: Handshake, { protocol, extensions }: SocketReply, requestId: string) {
  const selected = protocol ?? (offersFallback ? fallbackProtocol : null)
  const lines = [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${acceptKey(key)}`,
    ...(selected === null ? [] : [`Sec-WebSocket-Protocol: ${selected}`]),
    ...(extensions === null ? [] : [`Sec-WebSocket-Extensions: ${extensions}`]),
    `X-Request-Id: ${requestId}`,
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}
