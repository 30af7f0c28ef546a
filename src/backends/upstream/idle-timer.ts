import type { Readable } from 'node:stream'

/** Detects an upstream that neither sends nor reads anything. */
export class IdleTimer {
  readonly #timer: NodeJS.Timeout

  /** While `isClientSlow`, the upstream is not idle: it waits for the client. */
  constructor(timeoutMs: number, isClientSlow: () => boolean, onIdle: () => void) {
    this.#timer = setTimeout(() => {
      if (isClientSlow()) this.touch()
      else onIdle()
    }, timeoutMs)
  }

  touch(): void {
    this.#timer.refresh()
  }

  /** Chunks count as activity, and so does the end of a pause. The stream must have another reader. */
  watch(stream: Readable): void {
    stream.on('data', () => this.touch()).on('resume', () => this.touch())
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
