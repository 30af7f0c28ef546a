import type { Readable } from 'node:stream'
import type { Durations, Timer } from '../../kernel/index.ts'

/** Detects an upstream that neither sends nor reads anything. */
export class IdleTimer {
  readonly #timer: Timer

  /** While `isClientSlow`, the upstream is not idle: it waits for the client. */
  constructor(durations: Durations, timeoutMs: number, isClientSlow: () => boolean, onIdle: () => void) {
    this.#timer = durations.after(timeoutMs, () => {
      if (isClientSlow()) this.touch()
      else onIdle()
    })
  }

  touch(): void {
    this.#timer.refresh()
  }

  /** Chunks count as activity, and so does the end of a pause. The stream must have another reader. */
  watch(stream: Readable): void {
    stream.on('data', () => this.touch()).on('resume', () => this.touch())
  }

  stop(): void {
    this.#timer.close()
  }
}
