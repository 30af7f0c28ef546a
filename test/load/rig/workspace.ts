import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Resources are released in reverse order. */
export interface Rig extends AsyncDisposable {
  folder: string
  file(name: string): string
  /** Returns the resource. */
  stopAtEnd<T extends { stop(): Promise<unknown> }>(started: T): T
}

export function openRig(): Rig {
  const folder = mkdtempSync(join(tmpdir(), 'portico-bench-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  const stack = new AsyncDisposableStack()
  stack.defer(() => {
    process.off('exit', remove)
    remove()
  })
  return {
    folder,
    file: (name) => join(folder, name),
    stopAtEnd: (started) => {
      stack.defer(async () => void (await started.stop()))
      return started
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
