import { openSync } from 'node:fs'
import sonicBoom from 'sonic-boom'

/** Limit in characters while the destination does not accept data. Further text is lost. */
const maxBufferedLength = 16 * 1_048_576
/** At exit, to write the last text to a slow reader. */
const maxFinalAttempts = 10
/** At exit, for a write that a libuv thread has begun. */
const pendingWriteMs = 200

/** Linux does not mix writes of several processes to a pipe up to this size (PIPE_BUF). */
const maxAtomicBytes = 4_096
/** UTF-8 needs at most three bytes per UTF-16 unit. */
const maxBytesPerUnit = 3

/**
 * Writes whole lines in order and without blocking. A text that is not accepted, because the disk is full or the reader
 * has closed, is written again with the next one, so logging never stops the process. `onResume` gets the number of
 * lost lines. If other processes share the destination, their lines never begin within a line of up to 4 KB.
 */
export class LogSink {
  readonly #fd: number
  readonly #isShared: boolean
  readonly #sink: sonicBoom.SonicBoom
  #isRefusing = false
  #isWriting = false
  #isEnding = false
  #finalAttempts = 0

  constructor(destination: number | string, onResume: (lostLines: number) => void, isShared = false) {
    this.#isShared = isShared
    this.#fd = typeof destination === 'string' ? openSync(destination, 'a') : destination
    this.#sink = new sonicBoom.SonicBoom({
      fd: this.#fd,
      sync: false,
      maxLength: maxBufferedLength,
      ...(isShared && { maxWrite: maxAtomicBytes }),
      retryEAGAIN: () => this.#mayRetry(),
    })
    let lost = 0
    this.#sink.on('drop', (text: string) => {
      lost += countLines(text)
    })
    this.#sink.on('error', () => {
      this.#isRefusing = true
    })
    this.#sink.on('write', () => {
      this.#isRefusing = false
      const lostLines = lost
      lost = 0
      if (lostLines > 0) onResume(lostLines)
    })
    this.#sink.on('drain', () => {
      this.#isWriting = false
    })
  }

  write(text: string): void {
    this.#isWriting = true
    for (const part of this.#partsOf(text)) this.#sink.write(part)
  }

  /**
   * Resolves once everything up to the text is written. Rejects if the destination does not accept it, and if the signal is
   * aborted first.
   */
  writeThrough(text: string, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const refuse = (): void => reject(new Error('the destination of the log does not accept data'))
    const listeners = { drain: resolve, error: refuse, drop: refuse }
    for (const [name, listener] of Object.entries(listeners)) this.#sink.once(name, listener)
    signal.addEventListener('abort', refuse)
    if (signal.aborted) refuse()
    this.write(text)
    return promise.finally(() => {
      for (const [name, listener] of Object.entries(listeners)) this.#sink.off(name, listener)
      signal.removeEventListener('abort', refuse)
    })
  }

  /** A libuv thread would end with the process, usually before it has written the text. */
  end(text: string): void {
    this.#isEnding = true
    // flushSync would retry a full disk forever.
    if (this.#isRefusing) return
    try {
      if (this.#isWriting) wait(pendingWriteMs)
      this.#sink.flushSync()
      const last = new sonicBoom.SonicBoom({
        fd: this.#fd,
        sync: true,
        ...(this.#isShared && { maxWrite: maxAtomicBytes }),
        retryEAGAIN: () => this.#mayRetry(),
      })
      last.on('error', () => undefined)
      for (const part of this.#partsOf(text)) last.write(part)
    } catch {
      // A failure to write the log cannot be logged.
    }
  }

  #partsOf(text: string): Iterable<string> {
    if (!this.#isShared) return [text]
    const isAscii = Buffer.byteLength(text) === text.length
    return linesUpTo(text, isAscii ? maxAtomicBytes : Math.floor(maxAtomicBytes / maxBytesPerUnit))
  }

  #mayRetry(): boolean {
    return !this.#isEnding || ++this.#finalAttempts < maxFinalAttempts
  }
}

/** Whole lines. A line that is longer than the maximum stays whole. */
function* linesUpTo(text: string, maxLength: number): Generator<string> {
  let start = 0
  while (text.length - start > maxLength) {
    const last = text.lastIndexOf('\n', start + maxLength - 1)
    const end = last >= start ? last : text.indexOf('\n', start + maxLength)
    if (end === -1) break
    yield text.slice(start, end + 1)
    start = end + 1
  }
  if (start < text.length) yield text.slice(start)
}

function countLines(text: string): number {
  return text.split('\n').length - 1
}

function wait(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
